/* account.h - what is worked out of the workers' counters, once all ranks are gone.
 *
 * Threads: none of this is called by ranks.
 */
#ifndef HR_TRAIN_ACCOUNT_H
#define HR_TRAIN_ACCOUNT_H

#include "train/run.h"

/* The counters, summed; result is zeroed before (result.c). */
void hr_result_count(const struct hr_run *run, struct hr_run_result *result);

/* Staleness by worker and by key; the totals are in the result (account.c). */
HR_CHECKED enum hr_status hr_account_staleness(struct hr_run *run);

/* What asynchrony makes of a rate; the staleness is in the result (asynchrony.c). */
struct hr_asynchrony hr_asynchrony_of(const struct hr_run *run, const struct hr_run_result *result,
                                      double lr);

/* result->cure: of step size, momentum and staleness, what to change first if this run's loss rose
 * (asynchrony.c). */
void hr_divergence_cure(const struct hr_run *run, struct hr_run_result *result);

/* Of a run that ended in this status, which is returned: where an asynchronous one has diverged,
 * the message goes on to say what asynchrony had to do with it, and what to change first. */
HR_CHECKED enum hr_status hr_divergence_explain(const struct hr_run *run, enum hr_status status);

#endif
