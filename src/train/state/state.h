/* state.h - the tensors of a dense run in its checkpoints: weights, the optimizer's state, the
 * epoch in hand, and what inputs were scaled by. session/save.h has what all runs save.
 *
 *     model     the model's tensors, by PyTorch's names
 *     trainer   "<name>.exp_avg", ..., "worker.3.<name>.exp_avg" where each worker has a state;
 *               "<name>.anchor", ...: what a strategy keeps besides (rows.more);
 *               "worker.3.<name>" where each worker has weights of its own;
 *               "best.<name>" or "last.<name>", of --early-stop (best_state.h);
 *               "step", "normalize.mean", "normalize.std", "epoch_shares"
 *
 * Threads: before the ranks start, or the launcher's.
 */
#ifndef HR_STATE_STATE_H
#define HR_STATE_STATE_H

#include "state/parts.h"

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
