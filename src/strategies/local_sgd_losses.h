/* local_sgd_losses.h - local-sgd outlives workers: what each leaves where others, and the launcher,
 * find it when it is gone, or has to begin again.
 *
 *   Meeting  an averaging, or a cut in the middle of a period, where workers rest: they leave their
 *            replicas there, too, and below an averaging means either, if it is not said.
 *   Story    all are recalled, but only who waits can hear it: all who live come to the averaging
 *            that they are on the way to, before batch `meet`, and rest there. The averaging adds
 *            up weights in place; so before it begins a worker leaves its replica in an image, in
 *            one of two by turns, and says so. When it has ended it says that, too.
 *   Settle   let m be the farthest averaging to which a worker who lives has left its replica (if
 *            none lives: any worker).
 *              - Has one who lives ended it, its weights are the mean.
 *              - Else the mean is taken now, over all who have left a replica for m, in the order
 *                of their seats. A dead worker may be among them: what it left is whole, and its
 *                samples are not lost. An image for m is never overwritten before m is of no more
 *                use: whoever writes to that image again has ended the averaging after m, so all
 *                have left replicas for that one.
 *            The run goes on at m, all with that mean. A worker who lives keeps its optimiser's
 *            state; one who is dead that of the last cut, or term.
 *   Lost     who has left none for m does not count in it: what it trained on since the last true
 *            averaging is gone, and so are its shares that it did not come to, up to m. What was
 *            computed beyond m is computed once more.
 *   Recall   who has ended an averaging, and is recalled, goes on only if somebody else has. Still
 *            one may be recalled who needs more of the dead to end it while another has ended it;
 *            or who looks in the very moment in which another sets out. Then it has no part in the
 *            next averaging, and its shares are lost, too, though it lives.
 *   Cost     memory: two replicas more for each worker, and its state where all reach it; a copy of
 *            the weights in each averaging.
 *
 * Memory:  the strategy's: [term | a line for each worker | images (workers, 2, params)]; none
 *          where the run does not outlive losses.
 * Threads: a line and its images are written by their worker; the launcher reads when all rest.
 * Test:    tests/unit/strategies/test_settle_replicas.c
 */
#ifndef HR_STRATEGIES_LOCAL_SGD_LOSSES_H
#define HR_STRATEGIES_LOCAL_SGD_LOSSES_H

#include "strategy/shared.h"

/* strategy->bytes, init and settle. */
size_t hr_local_losses_bytes(const struct hr_shared_state *shared);
void hr_local_losses_init(struct hr_shared_state *shared);
uint64_t hr_local_settle(struct hr_shared_state *shared);
/* strategy->left: 1 + the batch behind the last averaging that it has left its replica for. Ended:
 * it has the mean. */
uint64_t hr_local_left(const struct hr_shared_state *shared, size_t worker, bool *ended);

/* --- a worker's; nothing where the run does not outlive losses --- */

/* It begins batch `index`, the first behind a meeting. averaged: all have the same weights, or the
 * run goes on here. HR_E_RECALLED: nobody does. */
HR_CHECKED enum hr_status hr_local_begin(struct hr_worker *worker, uint64_t index, bool averaged);
/* It has updated its replica. */
void hr_local_updated(const struct hr_worker *worker);
/* It leaves its replica for the meeting before batch `meet`. */
void hr_local_leave_replica(const struct hr_worker *worker, uint64_t meet, bool averages);

#endif
