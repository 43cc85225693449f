/* what_if_deaths.h - whom a recorded run lost, as deaths on purpose (--inject) for a run in virtual
 * time: at the same step of the same worker, or the same input of the same server. Steps that all
 * went back over count as they were counted then.
 *
 * Threads: none.
 * Test:    tests/unit/train/test_what_if_deaths.c
 */
#ifndef HR_TRAIN_WHAT_IF_DEATHS_H
#define HR_TRAIN_WHAT_IF_DEATHS_H

#include "base/error.h"
#include "hogring/replay.h"

/* Add the recorded deaths to options->inject. HR_E_FORMAT: the launcher's log cannot be;
 * HR_E_USAGE: there are more than fit; HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_what_if_recorded_deaths(const struct hr_replay *replay,
                                                     struct hr_train_options *options);

/* kill=`who`: "none" takes all deaths out; "R@N": worker R dies at its step N, "server:S@N": server
 * S at its input N, too. A run that ended with its first loss goes on here (--on-loss continue).
 * HR_E_USAGE. */
HR_CHECKED enum hr_status hr_what_if_kill(const char *who, struct hr_train_options *options);

#endif
