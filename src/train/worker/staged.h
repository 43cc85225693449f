/* staged.h - the gradient of a worker whose model is split over a pipeline of ranks (stages/): the
 * worker is stage 0 of them, or the one that does the work of all.
 *
 * Threads: as worker.h.
 */
#ifndef HR_WORKER_STAGED_H
#define HR_WORKER_STAGED_H

#include "stages/stream.h"
#include "strategy/peers.h"
#include "worker/worker.h"

/* The rank of member k > 0 of a worker's pipeline (stages/pipeline.h); and which a rank is. */
size_t hr_staged_rank(const struct hr_train_job *job, size_t worker, size_t k);
void hr_staged_member(const struct hr_train_job *job, size_t rank, size_t *worker, size_t *k);

/* Where a member's stage meets the others: bell (members) out, borrowed by the place. */
struct hr_stage_place hr_staged_place(const struct hr_train_job *job, size_t worker, size_t k,
                                      struct hr_bell **bell);

/* All workers' rings between stages on several machines: made ready, and visited, as
 * hr_peers_each_ring (strategy/peers.h). */
void hr_staged_init(const struct hr_train_job *job);
HR_CHECKED enum hr_status hr_staged_each_ring(const struct hr_train_job *job,
                                              hr_visit_ring_fn visit, void *arg);

/* A rank of the worker's pipeline was lost, and so is the replica: its other ranks leave their
 * step. The launcher's. */
void hr_staged_lose(const struct hr_train_job *job, size_t worker);

/* In real time: which life of its replica the worker begins. Where the pipeline never drains, and
 * one process runs all ranks: the versions of its weights that its stages read. A gradient is
 * begun with the newest; at a cut the pipeline drains. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_staged_start(struct hr_train_worker *self, size_t rank);
void hr_staged_begin(struct hr_train_worker *self);
void hr_staged_drain(struct hr_train_worker *self);

/* The gradient of the worker's share of batch `index`, into its grads. It waits for the other
 * stages, unless one process runs all ranks. */
HR_CHECKED enum hr_status hr_staged_gradient(struct hr_train_worker *self,
                                             const struct hr_batch *share, uint64_t index,
                                             struct hr_batch_result *result);
/* In virtual time: how long that gradient of the worker takes its stages, which are booked. Called
 * by one thread. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_staged_compute_ps(const struct hr_train_job *job, size_t worker,
                                               uint64_t step, int64_t *ps);
/* Between two gradients of the worker, in real time: how much longer one rank would have taken for
 * all of them so far, from what its stages measured; 0 without a pipeline. */
int64_t hr_staged_longer_ns(const struct hr_train_job *job, size_t worker);
/* What worker 0's stages did when, as in struct hr_pipeline_report; *span to free. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_staged_spans(const struct hr_train_job *job,
                                          struct hr_stage_span **span, size_t *n);
/* The worker ends: the other stages may. */
void hr_staged_end(struct hr_train_worker *self);

/* A worker whose model is split over a pipeline that never drains, each stage a rank
 * (stages/stream.h): the worker is stage 0, and all stages update their own weights.
 *
 * Threads: as worker.h; the update of a stage: its own.
 */
static inline bool hr_train_job_streams(const struct hr_train_job *job)
{
    return job->pipeline && job->pipeline->options.streams;
}

/* Of a stage that starts. */
struct hr_streamed_stage hr_streamed_stage_of(const struct hr_train_job *job, size_t worker);
/* What a stage's place has beside those of all pipelines; streamed stays the caller's. */
void hr_streamed_place(struct hr_streamed_stage *streamed, struct hr_stage_place *place);

/* Begin the batch, and finish, and count, one before it where the pipeline is full. */
HR_CHECKED enum hr_status hr_streamed_put(struct hr_train_worker *self, uint64_t index);
/* At a cut: finish those that are on their way. */
HR_CHECKED enum hr_status hr_streamed_drain(struct hr_train_worker *self);

#endif
