/* gradient.h - the gradient of a piece of a batch: its samples are loaded, and the model runs
 * forward and backward.
 *
 * Threads: as worker.h.
 */
#ifndef HR_WORKER_GRADIENT_H
#define HR_WORKER_GRADIENT_H

#include "worker/worker.h"

/* Add... into grads (params) out: the sum over the samples of a piece.
 *   ahead  the batch index, if the piece is all of this worker's share of it, which may have been
 *          decoded ahead; else HR_NOT_AHEAD */
#define HR_NOT_AHEAD UINT64_MAX
struct hr_batch_result hr_gradient_of(struct hr_train_worker *self, const struct hr_batch *piece,
                                      uint64_t ahead, float *grads);

#endif
