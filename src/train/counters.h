/* counters.h - results computed from the workers' counters, after all ranks have ended.
 *
 * Threads: none of this is called by ranks.
 */
#ifndef HR_TRAIN_COUNTERS_H
#define HR_TRAIN_COUNTERS_H

#include "train/run.h"

/* Sum the counters into a zeroed result (result.c). */
void hr_result_count(const struct hr_run *run, struct hr_run_result *result);
/* What a step of a machine was made of, and what recording cost; the times of all are in the
 * result. */
void hr_result_divide_time(const struct hr_run *run, struct hr_run_result *result);

/* Staleness by worker and by key; the totals are in the result (counters.c). */
HR_CHECKED enum hr_status hr_account_staleness(struct hr_run *run);
/* And who was waited for, where time is kept. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_account_waiting(struct hr_run *run);

/* The effect of asynchrony on this rate; the staleness is in the result (divergence.c). */
struct hr_asynchrony hr_asynchrony_of(const struct hr_run *run, const struct hr_run_result *result,
                                      double lr);

/* Set result->cure: which of step size, momentum and staleness to change first if the loss rose
 * (divergence.c). */
void hr_divergence_cure(const struct hr_run *run, struct hr_run_result *result);

/* Returns `status`, of the run's end. If it diverged, add to the message why, where that is found
 * (weights or data that are not finite, inputs that are large), and what to change first. */
HR_CHECKED enum hr_status hr_divergence_explain(const struct hr_run *run, enum hr_status status);

#endif
