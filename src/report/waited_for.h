/* waited_for.h - below the table: who was waited for, where one worker stands out; and in any width
 * what each has cost.
 *
 * Threads: none. Test: tests/unit/report/test_waited_for.c
 */
#ifndef HR_REPORT_WAITED_FOR_H
#define HR_REPORT_WAITED_FOR_H

#include <stdbool.h>
#include <stdio.h>

#include "report/groups.h"

enum { HR_WAITED_FOR_MAX = 240 };

/* "rank 2 cost 61 % of all waiting for others (31 % of the workers' time), computing"; of backup
 * workers: "rank 2 came too late for 40 of 41 dropped gradients". All seeds together. False: nobody
 * stands out, or there was little to wait for. */
bool hr_waited_for_say(const struct hr_run_group *group, char text[HR_WAITED_FOR_MAX]);

/* Such a sentence a row of the table. everything: also what each rank cost that cost a hundredth
 * of it, and what it did longer than those who waited, in seconds. */
void hr_waited_for_print(FILE *out, const struct hr_groups *groups, bool everything);

#endif
