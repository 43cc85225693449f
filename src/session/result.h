/* result.h - what every run has to report, once all its ranks are gone.
 *
 * How an engine plugs in: it puts its configuration and its counters into the result, its workers'
 * accounts into a list, and calls hr_result_finish; digests and what else it knows are its own.
 *
 * Threads: none of this is called by ranks.
 */
#ifndef HR_SESSION_RESULT_H
#define HR_SESSION_RESULT_H

#include "base/account.h"
#include "session/cut.h"

/* Where n accounts lie, each `stride` bytes behind the one before. */
struct hr_accounts {
    const struct hr_account *first;
    size_t stride, n;
};

/* Times of workers, clock, curve and what it ends in, and what was done before this run.
 * result->samples is there already. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_result_finish(const struct hr_cuts *cuts,
                                           const struct hr_train_options *options,
                                           const struct hr_accounts *accounts,
                                           struct hr_run_result *result);

#endif
