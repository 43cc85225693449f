/* staged.h - the gradient of a worker whose model is split over a pipeline of ranks (stages/): the
 * worker is stage 0 of them, or the one that does the work of all.
 *
 * Threads: as worker.h.
 */
#ifndef HR_WORKER_STAGED_H
#define HR_WORKER_STAGED_H

#include "worker/worker.h"

/* The rank of stage k > 0 of a worker's pipeline; and which a rank is. */
size_t hr_staged_rank(const struct hr_train_job *job, size_t worker, size_t k);
void hr_staged_seat(const struct hr_train_job *job, size_t rank, size_t *worker, size_t *k);

/* Where a stage meets the others: bell (K) out, borrowed by the place. */
struct hr_stage_place hr_staged_place(const struct hr_train_job *job, size_t worker, size_t k,
                                      struct hr_bell **bell);

/* The gradient of the worker's share of a batch, number `index`, into its grads, *samples out. It
 * waits for the other stages, unless one process plays all ranks. */
HR_CHECKED enum hr_status hr_staged_gradient(struct hr_train_worker *self,
                                             const struct hr_batch *batch, uint64_t index,
                                             size_t *samples, struct hr_batch_result *result);
/* The worker ends: the other stages may. */
void hr_staged_end(struct hr_train_worker *self);

#endif
