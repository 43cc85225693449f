/* result.h - what every run reports, after all ranks have ended.
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

/* n accounts, `stride` bytes apart. */
struct hr_accounts {
    const struct hr_account *first;
    size_t stride, n;
};

/* Fill in workers' times, clock, curve, final losses, and the counts of earlier runs. The caller
 * has set result->samples. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_result_finish(const struct hr_cuts *cuts,
                                           const struct hr_train_options *options,
                                           const struct hr_accounts *accounts,
                                           struct hr_run_result *result);

/* A list that a result owns. */
struct hr_result_list {
    void *field; /* of the result: the pointer to it, malloc'd or NULL */
    size_t bytes;
};
enum { HR_RESULT_LISTS = 14 };

/* All of them. */
void hr_result_lists(struct hr_run_result *result, struct hr_result_list out[HR_RESULT_LISTS]);

#endif
