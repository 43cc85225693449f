/* state.h - the tensors of a dense run in its checkpoints: weights, the optimizer's state, the
 * epoch in hand, and what inputs were scaled by. session/save.h has what all runs save.
 *
 *     model     the model's tensors, by PyTorch's names
 *     trainer   "<name>.exp_avg", ..., "worker.3.<name>.exp_avg" where each worker has a state;
 *               "<name>.anchor", ...: what a strategy keeps besides (rows.more);
 *               "worker.3.<name>" where each worker has weights of its own;
 *               "best.<name>" or "last.<name>", of --early-stop (below);
 *               "step", "normalize.mean", "normalize.std", "epoch_shares"
 *
 * Threads: before the ranks start, or the launcher's.
 */
#ifndef HR_STATE_STATE_H
#define HR_STATE_STATE_H

#include "state/parts.h"

/* What only the checkpoint of a pause has (strategy/pause.h): batches in hand, and
 * elastic-averaging's replicas.
 *
 *     "in_hand"                (hands, 2) the first sample's number since training began, samples
 *     "worker.3.<name>"        a replica's weights
 *     "steps_since_exchange"   (workers) of each replica
 *
 * Threads: before the ranks start, or the launcher's.
 * Test:    tests/unit/serial/test_pause.c
 */
enum { HR_PAUSE_TENSORS = 2 };

/* Behind hr_resume_position: which batches this run begins with. HR_E_USAGE: batches in hand are
 * none of this run's. */
HR_CHECKED enum hr_status hr_pause_state_position(struct hr_run *run,
                                                  const struct hr_checkpoint *checkpoint);

/* Public copies are the replicas, all of which are known: where none were saved. */
void hr_compress_state_begin(const struct hr_run *run);

/* The weights that a run with --early-stop ends with, in its checkpoints and after.
 *
 * While it trains, a checkpoint's model has the current weights, and its trainer the best ones
 * ("best."). At its end the model has the best ones, so that eval finds them, and the trainer the
 * current ones ("last."), so that it may go on. Which evaluation was the best follows from the
 * curve, which a checkpoint has, too (session/cut.h).
 *
 * Threads: before the ranks start, or the launcher's.
 * Test:    tests/unit/train/test_early_stop.c
 */

/* After the last save: the run ends with the best weights, unless it was interrupted. */
void hr_best_state_end(struct hr_run *run);

/* Fill in run->saver: how this run is saved. */
void hr_state_describe(struct hr_run *run);

/* Set the snapshot's replicas, if any, to the model's weights. */
void hr_state_share(struct hr_run *run);

/* May a run of these options go on from the checkpoint? HR_E_USAGE. */
HR_CHECKED enum hr_status hr_state_check(const struct hr_run *run,
                                         const struct hr_checkpoint *checkpoint);
/* Load the state into the snapshot, which exists. */
HR_CHECKED enum hr_status hr_state_restore(struct hr_run *run,
                                           const struct hr_checkpoint *checkpoint);

/* The scaling that a checkpoint's model was trained with, of no channels when there was none; free
 * with hr_scaling_free. HR_E_FORMAT when it is not for `channels`. */
HR_CHECKED enum hr_status hr_load_scaling(const struct hr_checkpoint *checkpoint, size_t channels,
                                          struct hr_scaling *out);

#endif
