/* state.h - a sparse run in its checkpoints; session/save.h has what all runs save.
 *
 *     model     linear: "weight" (1, features), as PyTorch's nn.Linear without a bias has it
 *               mf: "users.weight" (users, factors), "items.weight" (items, factors), as its
 *               nn.Embedding has them; "mean" (), which is added to u.v
 *               metadata: hogring.solver, hogring.cost, hogring.features; of linear its target
 *               (session/target_scale.h)
 *               with --early-stop a run that has ended has its best weights there
 *     trainer   --early-stop: "best.weight", ...: the best so far; of a run that has ended
 *               "last.weight", ...: the current ones
 *               dual: "alphas" (training rows, 2): alpha and C - alpha (linear: and 0);
 *               "inner_eps"
 *               in the middle of an epoch: "epoch_blocks" (workers, 1): blocks of each worker's
 *               shard that are done; "epoch_newton": inner steps so far
 *
 * Threads: the launcher's, while all ranks are quiescent; or before they start.
 * Test:    tests/unit/sparse/test_state.c
 */
#ifndef HR_SPARSE_STATE_H
#define HR_SPARSE_STATE_H

#include "sparse/run.h"

/* Fill in run->saver: how this run is saved. */
void hr_sparse_describe(struct hr_sparse_run *run);

/* May a run of these options go on from the checkpoint? HR_E_USAGE. */
HR_CHECKED enum hr_status hr_sparse_check_saved(const struct hr_sparse_run *run,
                                                const struct hr_checkpoint *checkpoint);
/* Load the state into the run's memory, which exists. */
HR_CHECKED enum hr_status hr_sparse_restore(struct hr_sparse_run *run,
                                            const struct hr_checkpoint *checkpoint);
/* The weights of options.init_weights. HR_E_USAGE: the solver has no use for them. */
HR_CHECKED enum hr_status hr_sparse_init_weights(struct hr_sparse_run *run);
/* The weights of the model's file alone; with a prefix, of the trainer's. Without features that the
 * data lack. */
HR_CHECKED enum hr_status hr_sparse_load_weights(const struct hr_checkpoint *checkpoint,
                                                 const char *prefix, struct hr_sparse_run *run);

/* XXH3-128 of the weights, by feature. Call it after all ranks have ended. */
HR_CHECKED enum hr_status hr_sparse_digest(const struct hr_sparse_run *run, char out[33]);

#endif
