/* gradient.h - the gradient of a piece of a batch: its samples are loaded, and the model runs
 * forward and backward.
 *
 * Threads: as worker.h.
 */
#ifndef HR_WORKER_GRADIENT_H
#define HR_WORKER_GRADIENT_H

#include "worker/prefetch.h"
#include "worker/worker.h"

/* Add... into grads (params) out: the sum over the samples of a piece.
 *   key  by which it may have been decoded ahead; NULL: it has not */
struct hr_batch_result hr_gradient_of(struct hr_train_worker *self, const struct hr_batch *piece,
                                      const struct hr_prefetch_key *key, float *grads);

#endif
