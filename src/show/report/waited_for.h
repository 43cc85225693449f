/* waited_for.h - below the table of --details: who was waited for, where one worker stands out, and
 * what waiting each has caused.
 *
 * Threads: none. Test: tests/unit/report/test_waited_for.c, test_node_step.c
 */
#ifndef HR_REPORT_WAITED_FOR_H
#define HR_REPORT_WAITED_FOR_H

#include <stdbool.h>
#include <stdio.h>

#include "report/groups.h"

enum { HR_WAITED_FOR_MAX = 240 };

/* "rank 2 caused 61 % of all waiting (31 % of the workers' time), computing"; of backup
 * workers: "rank 2 came too late for 40 of 41 dropped gradients". All seeds together. False: nobody
 * stands out, or there was little to wait for. */
bool hr_waited_for_say(const struct hr_run_group *group, char text[HR_WAITED_FOR_MAX]);

/* Such a sentence a row of the table; then the waiting that each rank caused, of those that caused
 * a hundredth of it, by what it did longer than those who waited, in seconds. */
void hr_waited_for_print(FILE *out, const struct hr_groups *groups);

/* What a step is made of where a machine's workers push as one, a line a row, means over its seeds:
 *
 *     ps-sync: of 4.21 s of a mean worker: load 0.10, compute 2.90, aggregate 0.31 (2 workers a
 *     machine), push 0.22, update 0.51, distribute 0.08, rest 0.09
 */
void hr_node_step_print(FILE *out, const struct hr_groups *groups);

#endif
