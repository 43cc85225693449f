/* best.h - which evaluation was the best, where a run ended early, and whose weights it has: told
 * under the table (--early-stop, --keep-best).
 *
 * Threads: none. Tests: tests/cli/early_stop.bats, tests/unit/verdict/test_verdict.c
 */
#ifndef HR_REPORT_BEST_H
#define HR_REPORT_BEST_H

#include <stdio.h>

#include "report/groups.h"

/* A line a run; nothing where nobody asked. */
void hr_best_print(FILE *out, const struct hr_groups *groups);

/* Which weights a comparison compares: those that each run ended with, or those of its best
 * evaluation (--early-stop). */
enum hr_compared { HR_COMPARED_LAST, HR_COMPARED_BEST, HR_COMPARED_MIXED };
enum hr_compared hr_best_compared(const struct hr_groups *groups);
/* A sentence that says so, with details also of which epochs they are; nothing where all are the
 * last. */
void hr_best_epochs_print(FILE *out, const struct hr_groups *groups, bool details);

#endif
