/* best.h - which evaluation was the best, where a run ended early, and whose weights it has: told
 * under the table (--early-stop, --keep-best).
 *
 * Threads: none. Test: tests/cli/early_stop.bats
 */
#ifndef HR_REPORT_BEST_H
#define HR_REPORT_BEST_H

#include <stdio.h>

#include "report/groups.h"

/* A line a run; nothing where nobody asked. */
void hr_best_print(FILE *out, const struct hr_groups *groups);

#endif
