/* streamed.h - a worker whose model is split over a pipeline that never drains, each stage a rank
 * (stages/stream.h): the worker is stage 0, and all stages update their own weights.
 *
 * Threads: as worker.h; the update of a stage: its own.
 */
#ifndef HR_WORKER_STREAMED_H
#define HR_WORKER_STREAMED_H

#include "stages/stream.h"
#include "worker/worker.h"

static inline bool hr_train_job_streams(const struct hr_train_job *job)
{
    return job->pipeline && job->pipeline->options.streams;
}

/* Of a stage that starts. */
struct hr_streamed_stage hr_streamed_stage_of(const struct hr_train_job *job, size_t worker);
/* What a stage's place has beside those of all pipelines; streamed stays the caller's. */
void hr_streamed_place(struct hr_streamed_stage *streamed, struct hr_stage_place *place);

/* Begin the batch, and finish, and count, one before it where the pipeline is full. */
HR_CHECKED enum hr_status hr_streamed_put(struct hr_train_worker *self, const struct hr_task *task);
/* At a cut: finish those that are on their way. */
HR_CHECKED enum hr_status hr_streamed_drain(struct hr_train_worker *self);

#endif
