/* parts.h - the gradient of a worker's share of a batch, computed part by part and summed.
 *
 *   Parts   slices of the share, or (--reduce repro) the worker's micro-shards of the batch. They
 *           are decoded and computed one after another, in memory for one.
 *   Order   T(n) over the n parts (stages/tree_sums.h).
 *
 * Threads: as worker.h.
 */
#ifndef HR_WORKER_PARTS_H
#define HR_WORKER_PARTS_H

#include "worker/worker.h"

/* Part `i` of this worker's share. */
struct hr_batch hr_part_of(const struct hr_train_worker *self, const struct hr_batch *batch,
                           size_t i);
/* The gradient of the share of batch `index`, part by part, into the worker's grads. *samples
 * out. */
struct hr_batch_result hr_parts_gradient(struct hr_train_worker *self, uint64_t index,
                                         size_t *samples);

#endif
