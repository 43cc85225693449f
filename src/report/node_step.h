/* node_step.h - below the table: what a step is made of where a machine's workers push as one.
 *
 *     ps-sync: of 4.21 s of a mean worker: load 0.10, compute 2.90, aggregate 0.31 (2 workers a
 *     machine), push 0.22, update 0.51, distribute 0.08, rest 0.09
 *
 * Threads: none. Test: tests/unit/report/test_node_step.c
 */
#ifndef HR_REPORT_NODE_STEP_H
#define HR_REPORT_NODE_STEP_H

#include <stdio.h>

#include "report/groups.h"

/* A line a row of the table, means over its seeds; nothing for rows that were not measured. */
void hr_node_step_print(FILE *out, const struct hr_groups *groups);

#endif
