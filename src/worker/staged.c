#include "worker/staged.h"

#include <string.h>

#include "worker/parts.h"

size_t hr_staged_rank(const struct hr_train_job *job, size_t worker, size_t k)
{
    return k == 0 ? worker : job->first_stage + worker * (job->pipeline->ranks - 1) + k - 1;
}

void hr_staged_seat(const struct hr_train_job *job, size_t rank, size_t *worker, size_t *k)
{
    const size_t others = job->pipeline->ranks - 1;
    *worker = (rank - job->first_stage) / others;
    *k = (rank - job->first_stage) % others + 1;
}

struct hr_stage_place hr_staged_place(const struct hr_train_job *job, size_t worker, size_t k,
                                      struct hr_bell **bell)
{
    struct hr_control *control = job->shared->control;
    const size_t ranks = job->pipeline->ranks;
    for (size_t i = 0; i < ranks; i++)
        bell[i] = &control->rank[hr_staged_rank(job, worker, i)].bell;
    return (struct hr_stage_place){
        .memory = (unsigned char *)job->stage_memory + worker * hr_pipeline_bytes(job->pipeline),
        .origin = job->shared->segment,
        .bell = bell,
        .flight = hr_control_flight(control, hr_staged_rank(job, worker, k)),
        .group = (uint32_t)worker + 1,
        .account = &job->stage_accounts[worker * ranks + k],
    };
}

/* A share's micro-batches are its parts. */
struct loader {
    struct hr_train_worker *self;
    const struct hr_batch *batch;
};

static uint64_t load(void *arg, size_t m, float *x, uint32_t *labels, uint32_t *numbers)
{
    const struct loader *loader = arg;
    struct hr_train_worker *self = loader->self;
    struct hr_account *account = &self->worker.stats->account;
    struct hr_input *input = &self->buffers->input;
    const struct hr_batch piece = hr_part_of(self, loader->batch, m);
    const enum hr_activity was = hr_account_turn(account, HR_LOAD);
    hr_input_decode(input, &piece, x, labels);
    memcpy(numbers, input->samples, piece.count * sizeof *numbers);
    hr_account_turn(account, was);
    return input->pass;
}

static enum hr_status lead(struct hr_train_worker *self, const struct hr_stage_task *task,
                           struct loader *loader, struct hr_batch_result *result)
{
    const struct hr_train_job *job = self->job;
    const size_t worker = self->worker.rank;
    struct hr_stage *stage = &self->buffers->lead;
    const struct hr_stage_place place = hr_staged_place(job, worker, 0, self->buffers->bell);
    const struct hr_stage_seat seat = {
        .waiter = &self->waiter, .control = job->shared->control, .rank = worker};
    stage->load = load;
    stage->load_arg = loader;
    hr_stage_sit(stage, &place);
    return hr_stage_lead(stage, &seat, task, result);
}

enum hr_status hr_staged_gradient(struct hr_train_worker *self, const struct hr_batch *batch,
                                  uint64_t index, size_t *samples, struct hr_batch_result *result)
{
    const struct hr_train_job *job = self->job;
    const struct hr_worker *worker = &self->worker;
    const struct hr_batch share = hr_input_share_of(job, worker->seat, worker->seats, batch);
    const struct hr_stage_task task = {.weights = worker->weights,
                                       .grads = worker->grads,
                                       .count = share.count,
                                       .index = index,
                                       .rounds = 1};
    struct loader loader = {self, batch};
    *samples = share.count;
    if (!job->played)
        return lead(self, &task, &loader, result);
    const struct hr_crew_replica replica = {
        &job->stage_accounts[worker->rank * job->pipeline->ranks], NULL, load, &loader};
    *result = hr_crew_step(&self->buffers->crew, &task, &replica);
    return HR_OK;
}

void hr_staged_end(struct hr_train_worker *self)
{
    const struct hr_train_job *job = self->job;
    if (!job->pipeline || job->played || !self->buffers)
        return;
    const struct hr_stage_place place =
        hr_staged_place(job, self->worker.rank, 0, self->buffers->bell);
    hr_stage_sit(&self->buffers->lead, &place);
    hr_stage_publish_end(&self->buffers->lead);
}
