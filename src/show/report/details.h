/* details.h - what stands below a table: who was lost, who was waited for, and
 * which evaluation was the best.
 *
 * Threads: none. Test: tests/unit/report/ */
#ifndef HR_REPORT_DETAILS_H
#define HR_REPORT_DETAILS_H

#include <stdbool.h>
#include <stdio.h>

#include "report/groups.h"

/* --- lost ranks --- */

/* Ranks that runs lost and outlived (--on-loss): counted, and told one by one under
 * the table. */

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

/* --- waited for --- */

/* Below the table of --details: who was waited for, where one worker stands out, and
 * what waiting each has caused. */

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

/* --- best --- */

/* Which evaluation was the best, where a run ended early, and whose weights it has: told
 * under the table (--early-stop, --keep-best). */

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
