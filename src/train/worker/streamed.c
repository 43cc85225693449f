#include "worker/streamed.h"

#include <math.h>
#include <string.h>

#include "strategy/shared.h"
#include "worker/count.h"
#include "worker/staged.h"

/* --- a stage's update --- */

struct hr_streamed_stage hr_streamed_stage_of(const struct hr_train_job *job, size_t worker)
{
    return (struct hr_streamed_stage){job, worker, job->shared->snapshot.applied[0]};
}

static enum hr_status check_finite(const struct hr_train_job *job,
                                   const struct hr_stage_update *update)
{
    struct hr_gradient_check check;
    const struct hr_batch batch = hr_batch_schedule_batch(&job->shared->schedule, update->index);
    hr_gradient_check_begin(&check, update->grads, update->count, SIZE_MAX);
    const bool finite = hr_gradient_check_from(&check, 0);
    if (finite && isfinite(update->loss_sum))
        return HR_OK;
    return hr_fail(HR_E_DIVERGED,
                   "step %llu: the %s is not finite in epoch %llu, samples %llu to %llu of its "
                   "order",
                   (unsigned long long)update->index,
                   isfinite(update->loss_sum) ? "gradient" : "loss",
                   (unsigned long long)batch.epoch + 1, (unsigned long long)batch.first + 1,
                   (unsigned long long)(batch.first + batch.count));
}

/* (hr_update_slice_fn) HR_E_DIVERGED: the gradient or the loss is not finite. */
static enum hr_status update_slice(void *arg, const struct hr_stage_update *update)
{
    const struct hr_streamed_stage *stage = arg;
    const struct hr_shared_state *shared = stage->job->shared;
    HR_TRY(check_finite(stage->job, update));
    const struct hr_step step =
        hr_step_for(shared, update->index, update->samples, stage->before + update->number + 1);
    hr_step_update(&step, update->begin, update->count,
                   shared->weights[stage->worker] + update->begin, shared->own, update->grads);
    return HR_OK;
}

void hr_streamed_place(struct hr_streamed_stage *streamed, struct hr_stage_place *place)
{
    const struct hr_shared_state *shared = streamed->job->shared;
    place->update = update_slice;
    place->update_arg = streamed;
    place->state = shared->own;
    place->nstates = hr_state_floats(shared) / shared->params;
}

/* --- the worker --- */

static uint64_t load(void *arg, size_t m, float *x, uint32_t *labels, uint32_t *numbers)
{
    struct hr_train_worker *self = arg;
    struct hr_account *account = &self->worker.stats->account;
    struct hr_input *input = &self->buffers->input;
    const struct hr_pipeline_micro *micro = &self->buffers->lead.at.micro[m];
    const struct hr_batch share =
        hr_input_share(self->job, self->worker.seat, self->worker.seats, micro->index);
    const enum hr_activity was = hr_account_turn(account, HR_LOAD);
    hr_input_decode(input, &share, x, labels);
    memcpy(numbers, input->samples, share.count * sizeof *numbers);
    hr_account_turn(account, was);
    return input->pass;
}

static struct hr_stage_seat seat_of(struct hr_train_worker *self)
{
    return (struct hr_stage_seat){.waiter = &self->waiter,
                                  .control = self->job->shared->control,
                                  .rank = self->worker.rank,
                                  .stage = &self->buffers->lead};
}

static struct hr_stage *lead_of(struct hr_train_worker *self)
{
    struct hr_compute_buffers *buffers = self->buffers;
    struct hr_stage *lead = &buffers->lead;
    if (lead->load)
        return lead;
    struct hr_stage_place place = hr_staged_place(self->job, self->worker.rank, 0, buffers->bell);
    self->stage = hr_streamed_stage_of(self->job, self->worker.rank);
    hr_streamed_place(&self->stage, &place);
    lead->load = load;
    lead->load_arg = self;
    hr_stage_sit(lead, &place);
    return lead;
}

static void count(struct hr_train_worker *self, const struct hr_stream_done *done)
{
    if (!done->any)
        return;
    hr_count_gradient(self, done->index, done->samples, done->result.loss_sum);
    self->worker.stats->updates++;
    self->at_the_start = false;
}

enum hr_status hr_streamed_put(struct hr_train_worker *self, const struct hr_task *task)
{
    const struct hr_worker *worker = &self->worker;
    const struct hr_batch share =
        hr_input_share(self->job, worker->seat, worker->seats, task->index);
    const struct hr_stage_task put = {.weights = worker->weights,
                                      .grads = worker->grads,
                                      .count = share.count,
                                      .index = task->index,
                                      .rounds = 1};
    const struct hr_stage_seat seat = seat_of(self);
    struct hr_stream_done done;
    HR_TRY(hr_stream_put(lead_of(self), &seat, &put, &done));
    count(self, &done);
    return HR_OK;
}

enum hr_status hr_streamed_drain(struct hr_train_worker *self)
{
    const struct hr_stage_seat seat = seat_of(self);
    struct hr_stream_done done = {.any = true};
    hr_account_turn(&self->worker.stats->account, HR_COMPUTE);
    while (done.any) {
        HR_TRY(hr_stream_drain(lead_of(self), &seat, &done));
        count(self, &done);
    }
    return HR_OK;
}
