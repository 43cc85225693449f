/* lost_ranks.h - ranks that runs lost and outlived (--on-loss): counted, and told one by one under
 * the table.
 *
 * Threads: none. Test: tests/unit/report/test_lost_ranks.c
 */
#ifndef HR_REPORT_LOST_RANKS_H
#define HR_REPORT_LOST_RANKS_H

#include <stdio.h>

#include "report/groups.h"

/* How many runs of the group lost ranks; did all runs lose equally many? */
size_t hr_run_group_lost(const struct hr_run_group *group);
bool hr_groups_lost_alike(const struct hr_groups *groups);
/* Samples that were lost with ranks: scheduled, and never trained on. */
uint64_t hr_run_lost_samples(const struct hr_run_result *run);
/* Seconds in which a worker was lost, or had no seat (--reduce repro): what its times leave of the
 * run's. 0 for those that never were. */
double hr_run_absent(const struct hr_run_result *run, size_t worker);

/* Told of a table, and of the brief table of a single row; of more only their number. */
enum { HR_LOST_RANKS_TOLD = 10, HR_LOST_RANKS_BRIEF = 2 };

/* The mark's meaning, and a sentence a loss, in 80 columns; nothing where nothing was lost. */
void hr_lost_ranks_print(FILE *out, const struct hr_groups *groups, bool details);

#endif
