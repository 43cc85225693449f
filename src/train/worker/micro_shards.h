/* micro_shards.h - --reduce repro: the bits of training do not depend on the number of workers.
 *
 *   Story    a global batch is split into M micro-shards (a power of two, 8 unless told otherwise).
 *            A shard's gradient is computed by itself, so that kernels always see the same shapes,
 *            and the M gradients are added in T(M) (base/vec.h). A worker has M / W neighbouring
 *            shards, W being a power of two: a whole subtree of T(M), which it adds alone. A
 *            strategy that adds in T(W) then adds the subtrees' sums: together the same tree.
 *   Promise  with the same global batch and M, the same weights for W = 1, 2, 4, ... M.
 *   Cost     products of smaller matrices, and M / W - 1 additions of a gradient. It is measured on
 *            the first steps: worker 0 also computes its whole share at once.
 *   Source   the idea of virtual workers: EasyScale (Li et al., SC 2023).
 *
 * Test: tests/unit/train/test_repro.c
 */
#ifndef HR_WORKER_MICRO_SHARDS_H
#define HR_WORKER_MICRO_SHARDS_H

#include "worker/worker.h"

/* Check and settle --reduce. */
HR_CHECKED enum hr_status hr_micro_shards_prepare(struct hr_train_job *job);
/* The worker's share of the global batch, shard by shard, into its grads. *samples out. */
struct hr_batch_result hr_micro_shards_gradient(struct hr_train_worker *self, uint64_t index,
                                                size_t *samples);
/* Time by shards over time of whole shares; 0: not known. */
double hr_micro_shards_cost(const struct hr_train_job *job);

#endif
