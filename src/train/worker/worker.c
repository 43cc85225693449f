#include "worker/worker.h"

#include <math.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/size.h"
#include "session/class_scores.h"
#include "strategy/shared.h"
#include "worker/input.h"
#include "worker/staged.h"

/* The errors of all blocks, in the last place. */
static struct hr_fit fit_of_values(const struct hr_train_job *job)
{
    const size_t sums = 2 * job->values.count;
    double *all = job->tested.errors + job->tested.nblocks * sums;
    memset(all, 0, sums * sizeof *all);
    for (size_t block = 0; block < job->tested.nblocks; block++)
        for (size_t i = 0; i < sums; i++)
            all[i] += job->tested.errors[block * sums + i];
    return hr_fit_of(&job->dataset->targets, &job->dataset->test, all, NULL);
}

static struct hr_fit fit_of_classes(const struct hr_train_job *job)
{
    const struct hr_answered answered = {.count = job->dataset->test.count,
                                         .classes = job->dataset->classes,
                                         .noutputs = hr_model_outputs(job->model),
                                         .labels = job->dataset->test.labels,
                                         .rows = job->dataset->test.chosen,
                                         .answers = job->tested.answers,
                                         .outputs = job->tested.outputs};
    return hr_fit_of_classes(&answered);
}

struct hr_measured hr_train_job_measured(const struct hr_train_job *job)
{
    const double tests = (double)job->dataset->test.count;
    double sum = 0;
    uint64_t correct = 0;
    for (size_t block = 0; block < job->tested.nblocks; block++) {
        sum += job->tested.cells[block].loss_sum;
        correct += job->tested.cells[block].correct;
    }
    if (job->values.count)
        return (struct hr_measured){sum / tests, (double)NAN, fit_of_values(job)};
    if (job->dataset->tokens.context)
        return (struct hr_measured){sum / tests, (double)NAN,
                                    hr_fit_of_text(job->dataset, sum / tests)};
    return (struct hr_measured){sum / tests, (double)correct / tests, fit_of_classes(job)};
}

/* Its view of the group of the active workers. */
static enum hr_status join_group(struct hr_train_worker *self)
{
    const struct hr_train_job *job = self->job;
    const struct hr_shared_state *shared = job->shared;
    const struct hr_worker *worker = &self->worker;
    const struct hr_group_options options = hr_group_of_active(shared);
    const struct hr_place place = {.group = shared->group,
                                   .segment = shared->segment,
                                   .control = shared->control,
                                   .waiter = &self->waiter,
                                   .world_rank = shared->active->rank,
                                   .wires = job->wires.nranks ? &job->wires : NULL};
    if (job->local) {
        hr_member_init_local(&self->worker.member, job->local, worker->group_rank);
        return HR_OK;
    }
    return hr_member_init(&self->worker.member, &options, &place, worker->group_rank);
}

bool hr_train_worker_enter_group(struct hr_train_worker *self)
{
    struct hr_worker *worker = &self->worker;
    const struct hr_active *active = self->job->shared->active;
    worker->group_size = active->n;
    worker->group_rank = 0;
    while (worker->group_rank < active->n && active->rank[worker->group_rank] != worker->rank)
        worker->group_rank++;
    return worker->group_rank < active->n;
}

/* Where it stands: before batch `index`, in the span that the last cut began. */
static void stand_at(struct hr_train_worker *self, uint64_t index)
{
    const struct hr_train_job *job = self->job;
    struct hr_worker *worker = &self->worker;
    worker->index = index;
    worker->steps = worker->stats->steps;
    worker->cut = hr_batch_schedule_next_cut(&job->shared->schedule, job->cut->begins);
}

enum hr_status hr_train_worker_restart(struct hr_train_worker *self)
{
    if (!self->job->local) /* what a sum that was revoked had sent; a local one is whole */
        hr_count_traffic(&self->worker);
    self->worker.counted = (struct hr_traffic){0};
    hr_member_fini(&self->worker.member);
    const enum hr_status joined = join_group(self);
    if (joined != HR_OK) {
        hr_worker_stop(&self->worker);
        return joined;
    }
    self->worker.back = false; /* all begin from the snapshot */
    hr_worker_drop(&self->worker);
    const enum hr_status status = hr_worker_start(&self->worker);
    if (status != HR_OK)
        hr_member_fini(&self->worker.member);
    stand_at(self, self->job->shared->active->index);
    hr_report_begin(self);
    return status;
}

static enum hr_status start_worker(struct hr_train_worker *self, size_t rank, bool joins)
{
    const struct hr_train_job *job = self->job;
    struct hr_shared_state *shared = job->shared;
    const bool sleeps = job->wires.nranks || hr_conditions_matter(&job->conditions);
    if (sleeps && !job->serial) /* else the kernel rounds sleeps up by 50 us */
        prctl(PR_SET_TIMERSLACK, 1);
    self->worker = (struct hr_worker){
        .shared = shared,
        .rank = rank,
        .waiter = &self->waiter,
        .stats = &shared->stats[rank],
        .weights = shared->weights[rank],
        .grads = shared->grads[rank],
        .back = joins,
    };
    stand_at(self, shared->active->index);
    hr_report_begin(self);
    if (!hr_train_worker_enter_group(self)) /* one that comes back is active in the next term */
        self->worker.group_rank = 0;
    HR_TRY(join_group(self));
    const enum hr_status status = hr_worker_start(&self->worker);
    if (status != HR_OK)
        hr_member_fini(&self->worker.member);
    return status;
}

static enum hr_status start_prefetch(struct hr_train_worker *self, size_t rank)
{
    const struct hr_train_job *job = self->job;
    const struct hr_shared_state *shared = job->shared;
    const struct hr_prefetch_options options = {
        .job = job,
        .rank = rank,
        .ahead = job->options->prefetch,
        .max_samples = hr_prefetch_samples(job),
        .parts = job->pipeline ? 1 : job->parts,
        .first = shared->schedule.first + (shared->strategy->shares_batch ? 0 : rank),
        .end = shared->schedule.end,
        .stride = shared->strategy->shares_batch ? 1 : shared->workers,
    };
    if (!hr_train_job_prefetches(job))
        return HR_OK;
    return hr_prefetch_start(&options, &self->prefetch);
}

enum hr_status hr_train_worker_start(struct hr_train_worker *self, const struct hr_train_job *job,
                                     size_t rank, bool joins)
{
    enum hr_status status;
    *self = (struct hr_train_worker){
        .job = job,
        .waiter = job->waits,
    };
    self->waiter.beat = job->pool ? hr_buffer_pool_beat(job->pool) : NULL;
    self->waiter.account = &job->shared->stats[rank].account;
    HR_TRY(start_prefetch(self, rank));
    HR_TRY_GOTO(hr_staged_start(self, rank), status, out);
    HR_TRY_GOTO(start_worker(self, rank, joins), status, out);
    return HR_OK;
out:
    hr_versions_stop(&self->versions);
    hr_prefetch_stop(self->prefetch);
    return status;
}

void hr_train_worker_drop(struct hr_train_worker *self)
{
    hr_worker_drop(&self->worker);
    hr_member_fini(&self->worker.member);
    hr_versions_stop(&self->versions);
    hr_prefetch_stop(self->prefetch);
}

void hr_train_worker_stop(struct hr_train_worker *self)
{
    hr_staged_end(self);
    hr_worker_stop(&self->worker);
    hr_member_fini(&self->worker.member);
    hr_versions_stop(&self->versions);
    hr_prefetch_stop(self->prefetch);
}

void hr_train_worker_leave_cut(struct hr_train_worker *self)
{
    const struct hr_cut *cut = self->job->cut;
    struct hr_worker *worker = &self->worker;
    const struct hr_batch_schedule *schedule = &worker->shared->schedule;
    if (!cut->halt && worker->shared->strategy->synchronous)
        worker->cut = hr_batch_schedule_next_cut(schedule, cut->index);
    hr_staged_drain(self);
}

/* What the workspace's batch was predicted to be: of values, how far that is from what it is. */
static void keep_answers(struct hr_train_worker *self, size_t first, size_t n, double *errors)
{
    const struct hr_train_job *job = self->job;
    struct hr_workspace *workspace = self->buffers->workspace;
    const size_t outputs = hr_model_outputs(job->model);
    const float *out = hr_workspace_outputs(workspace);
    if (job->values.count) {
        hr_fit_add(&job->values, &job->dataset->targets, n, out, hr_workspace_labels(workspace),
                   errors);
        return;
    }
    if (job->dataset->tokens.context)
        return;
    hr_workspace_answers(workspace, n, job->tested.answers + first);
    if (hr_class_scores_rank(job->dataset->classes, outputs))
        memcpy(job->tested.outputs + first * outputs, out, n * outputs * sizeof *out);
}

/* Test samples [first, first + count), in pieces that fit the workspace. */
static struct hr_batch_result evaluate_block(struct hr_train_worker *self, size_t first,
                                             size_t count, double *errors)
{
    const struct hr_train_job *job = self->job;
    struct hr_compute_buffers *buffers = self->buffers;
    struct hr_batch_result sum = {0};
    const size_t rows = hr_input_eval_rows(job->dataset);
    for (size_t done = 0; done < count; done += rows) {
        const size_t n = hr_min_size(rows, count - done);
        hr_input_decode_test(&buffers->input, first + done, n,
                             hr_workspace_input(buffers->workspace),
                             hr_workspace_labels(buffers->workspace));
        hr_model_evaluate_more(job->model, buffers->workspace, job->shared->snapshot.weights, n,
                               &sum);
        keep_answers(self, first + done, n, errors);
    }
    return sum;
}

static void evaluate_blocks(struct hr_train_worker *self)
{
    const struct hr_train_job *job = self->job;
    const size_t tests = job->dataset->test.count;
    hr_workspace_lend(self->buffers->workspace, NULL, NULL);
    const size_t group_size = self->worker.group_size, group_rank = self->worker.group_rank,
                 end = hr_split_begin(job->tested.nblocks, group_size, group_rank + 1);
    for (size_t block = hr_split_begin(job->tested.nblocks, group_size, group_rank); block < end;
         block++) {
        const size_t first = block * HR_EVAL_BLOCK;
        const size_t count = hr_min_size(HR_EVAL_BLOCK, tests - first);
        const size_t sums = 2 * job->values.count;
        double *errors = job->tested.errors + block * sums;
        if (sums)
            memset(errors, 0, sums * sizeof *errors);
        const struct hr_batch_result result = evaluate_block(self, first, count, errors);
        job->tested.cells[block] = (struct hr_eval_cell){result.loss_sum, result.correct};
    }
}

enum hr_status hr_train_worker_evaluate(struct hr_train_worker *self)
{
    if (self->worker.group_rank >= self->job->tested.nblocks) /* nothing is left for it */
        return HR_OK;
    HR_TRY(hr_train_worker_take_buffers(self));
    evaluate_blocks(self);
    hr_train_worker_return_buffers(self);
    return HR_OK;
}
