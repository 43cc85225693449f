#include "worker/worker.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/size.h"
#include "checkpoint/digest.h"
#include "strategy/shared.h"
#include "worker/buffer_pool.h"
#include "worker/count.h"
#include "worker/gradient.h"
#include "worker/micro_shards.h"
#include "worker/parts.h"
#include "worker/prefetch.h"
#include "worker/staged.h"
#include "worker/streamed.h"

/* Its view of the group of those who have seats. */
static enum hr_status join_group(struct hr_train_worker *self)
{
    const struct hr_train_job *job = self->job;
    const struct hr_shared_state *shared = job->shared;
    const struct hr_worker *worker = &self->worker;
    const struct hr_group_options options = hr_group_of_seats(shared);
    const struct hr_place place = {.group = shared->group,
                                   .segment = shared->segment,
                                   .control = shared->control,
                                   .waiter = &self->waiter,
                                   .world_rank = shared->seats->rank,
                                   .wires = job->wires.nranks ? &job->wires : NULL};
    if (job->local) {
        hr_member_init_local(&self->worker.member, job->local, worker->seat);
        return HR_OK;
    }
    return hr_member_init(&self->worker.member, &options, &place, worker->seat);
}

/* How many parts a share has: more where fewer than all share a batch. */
static size_t parts_of(const struct hr_train_job *job, size_t seats)
{
    const size_t workers = job->shared->workers;
    return job->shared->strategy->shares_batch ? job->parts * ((workers + seats - 1) / seats)
                                               : job->parts;
}

bool hr_train_worker_seat(struct hr_train_worker *self)
{
    struct hr_worker *worker = &self->worker;
    const struct hr_seats *seats = self->job->shared->seats;
    worker->seats = seats->n;
    worker->seat = 0;
    while (worker->seat < seats->n && seats->rank[worker->seat] != worker->rank)
        worker->seat++;
    self->parts = parts_of(self->job, seats->n);
    return worker->seat < seats->n;
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
    if (!self->job->local) /* what a sum that was recalled had sent; a local one is whole */
        hr_count_traffic(&self->worker);
    self->worker.counted = (struct hr_traffic){0};
    hr_member_fini(&self->worker.member);
    const enum hr_status joined = join_group(self);
    if (joined != HR_OK) {
        hr_worker_stop(&self->worker);
        return joined;
    }
    self->worker.back = false; /* all begin from the snapshot */
    const enum hr_status status = hr_worker_restart(&self->worker);
    if (status != HR_OK)
        hr_member_fini(&self->worker.member);
    stand_at(self, self->job->shared->seats->index);
    hr_tell_begin(self);
    return status;
}

static enum hr_status start_worker(struct hr_train_worker *self, size_t rank, bool joins)
{
    const struct hr_train_job *job = self->job;
    struct hr_shared_state *shared = job->shared;
    const bool sleeps = job->wires.nranks || hr_conditions_matter(&job->conditions);
    if (sleeps && !job->played) /* else the kernel rounds sleeps up by 50 us */
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
    stand_at(self, shared->seats->index);
    hr_tell_begin(self);
    if (!hr_train_worker_seat(self)) /* of those who come back: they get one in the next term */
        self->worker.seat = 0;
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

/* In the middle of backward: grads [offset, params) are final. Behind a number that is not finite
 * nothing more is handed over; check_finite says so. Where workers were lost, a share may be
 * computed in parts that are added first: it is handed over at once, when it is whole. */
static void hand_over(void *arg, size_t offset)
{
    struct hr_train_worker *self = arg;
    if ((self->parts > 1 && !self->job->pipeline) ||
        !hr_gradient_check_from(&self->check, offset) || !self->worker.hooks->final)
        return;
    struct hr_worker *worker = &self->worker;
    struct hr_account *account = &worker->stats->account;
    const enum hr_activity was = hr_account_turn(account, HR_COMMUNICATE);
    const int64_t began = hr_clock_ns();
    worker->hooks->final(worker, offset);
    self->final_ns += hr_clock_ns() - began;
    hr_account_turn(account, was);
}

enum hr_status hr_train_worker_start(struct hr_train_worker *self, const struct hr_train_job *job,
                                     size_t rank, bool joins)
{
    enum hr_status status;
    *self = (struct hr_train_worker){
        .job = job,
        .waiter = {.abort = &job->shared->control->abort,
                   .spin_ns = job->spin_ns,
                   .yield_ns = job->yield_ns,
                   .timeout_ns = job->timeout_ns,
                   .poll = job->poll,
                   .poll_arg = job->poll_arg,
                   .beat = job->pool ? hr_buffer_pool_beat(job->pool) : NULL,
                   .account = &job->shared->stats[rank].account},
    };
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

void hr_train_worker_borrow(struct hr_train_worker *self, struct hr_compute_buffers *buffers)
{
    self->buffers = buffers;
    buffers->borrower = self;
    buffers->final = hand_over;
}

enum hr_status hr_train_worker_sit(struct hr_train_worker *self)
{
    struct hr_buffer_pool *pool = self->job->pool;
    struct hr_compute_buffers *buffers;
    if (!pool)
        return HR_OK;
    HR_TRY(hr_buffer_pool_take(pool, &self->waiter, self->worker.rank, &buffers, &self->stood_ns));
    hr_train_worker_borrow(self, buffers);
    return HR_OK;
}

void hr_train_worker_rise(struct hr_train_worker *self)
{
    if (self->job->pool)
        hr_buffer_pool_give_back(self->job->pool, self->buffers);
}

/* What follows may wait, or sleep. */
static void rise_for_now(struct hr_train_worker *self)
{
    if (!self->job->pool || hr_conditions_matter(&self->job->conditions))
        hr_train_worker_rise(self);
    else
        self->keeps_turn =
            hr_buffer_pool_lay_down(self->job->pool, self->worker.rank, self->buffers);
}

void hr_train_worker_pass(struct hr_train_worker *self)
{
    if (self->keeps_turn)
        hr_buffer_pool_pass(self->job->pool);
    self->keeps_turn = false;
}

struct sleeper {
    struct hr_waiter waiter;
    const struct hr_atom32 *stop;
    int64_t until_ns;
};

static bool has_slept(void *arg)
{
    struct sleeper *sleeper = arg;
    sleeper->waiter.alarm_ns = sleeper->until_ns;
    return hr_clock_ns() >= sleeper->until_ns ||
           hr_atom32_load_acquire(sleeper->stop) != 0; /* partner: launcher.c */
}

/* Books no time: the caller says what the sleep counts as. */
enum hr_status hr_train_worker_sleep(const struct hr_train_worker *self, int64_t until_ns,
                                     const char *what)
{
    const struct hr_train_job *job = self->job;
    struct sleeper sleeper = {.waiter = {.abort = self->waiter.abort},
                              .stop = &job->shared->dispenser->stop,
                              .until_ns = until_ns};
    return hr_wait_until(&sleeper.waiter, &job->shared->control->rank[self->worker.rank].bell,
                         has_slept, &sleeper, what);
}

/* --inject load: not for a batch decoded ahead, whose delay the prefetching thread had. */
static enum hr_status load_slowly(struct hr_train_worker *self, uint64_t hits)
{
    struct hr_worker_stats *stats = self->worker.stats;
    const int64_t ps = hr_conditions_load_ps(self->job, self->worker.rank);
    self->slept_ns = 0;
    if (ps == 0 || self->job->played || stats->prefetch_hits > hits)
        return HR_OK;
    const enum hr_activity was = hr_account_turn(&stats->account, HR_LOAD);
    const int64_t began = hr_clock_ns();
    HR_TRY(hr_train_worker_sleep(self, began + ps / 1000, "its slow input"));
    self->slept_ns = hr_clock_ns() - began;
    hr_account_turn(&stats->account, was);
    return HR_OK;
}

/* "the gradient is not finite, though the loss is: a nan in 3.weight" */
static void say_what_is_not_finite(const struct hr_train_worker *self, double loss, char *text,
                                   size_t size)
{
    const struct hr_model *model = self->job->model;
    const size_t at = self->check.found;
    size_t t = 0;
    if (!isfinite(loss)) { /* a NaN with a sign prints as -nan */
        snprintf(text, size, "the loss is not finite (%g)", isnan(loss) ? (double)NAN : loss);
        return;
    }
    while (at >= hr_model_tensor(model, t)->offset + hr_model_tensor(model, t)->count)
        t++;
    snprintf(text, size, "the gradient is not finite, though the loss is: %s in %s",
             isnan(self->check.value) ? "a nan" : "an infinity", hr_model_tensor(model, t)->name);
}

/* A loss that is not finite, though the gradient is, is no smaller trouble. */
static enum hr_status check_finite(struct hr_train_worker *self, const struct hr_batch *share,
                                   double loss)
{
    char what[200];
    const bool finite = hr_gradient_check_from(&self->check, 0);
    if (finite && isfinite(loss))
        return HR_OK;
    say_what_is_not_finite(self, loss, what, sizeof what);
    return hr_fail(HR_E_DIVERGED, "%s in epoch %llu, samples %llu to %llu of its order", what,
                   (unsigned long long)share->epoch + 1, (unsigned long long)share->first + 1,
                   (unsigned long long)(share->first + share->count));
}

/* Is this gradient taken at the initial weights: this worker's first, before any update? Only for
 * random weights do so few losses tell where the loss began. */
static bool is_at_the_start(const struct hr_train_worker *self, uint64_t index)
{
    const struct hr_train_job *job = self->job;
    const struct hr_worker *worker = &self->worker;
    const struct hr_shared_state *shared = worker->shared;
    const bool at_random = shared->schedule.first == 0 && !job->options->init_weights[0];
    return at_random && worker->steps == 0 && job->cut->concluded == 0 &&
           index < hr_batch_schedule_next_cut(&shared->schedule, 0) &&
           hr_digest64(worker->weights, shared->params * sizeof *worker->weights) ==
               job->begins_with;
}

void hr_train_worker_begin(struct hr_train_worker *self, const struct hr_task *task)
{
    const struct hr_worker *worker = &self->worker;
    if (hr_train_job_streams(self->job) && task->index > worker->shared->schedule.first)
        return; /* its stages write its weights by now */
    hr_conditions_flip_bit(self->job, worker->rank, worker->steps, worker->weights);
    self->at_the_start = is_at_the_start(self, task->index);
    hr_staged_begin(self);
}

enum hr_status hr_train_worker_drain(struct hr_train_worker *self)
{
    return hr_train_job_streams(self->job) ? hr_streamed_drain(self) : HR_OK;
}

enum hr_status hr_train_worker_gradient(struct hr_train_worker *self, const struct hr_task *task)
{
    struct hr_worker *worker = &self->worker;
    if (hr_train_job_streams(self->job)) {
        HR_TRY(hr_streamed_put(self, task));
        return load_slowly(self, worker->stats->prefetch_hits);
    }
    const struct hr_batch batch = hr_batch_schedule_batch(&worker->shared->schedule, task->index);
    self->parts = parts_of(self->job, worker->seats); /* seats may change from step to step */
    const struct hr_batch share =
        hr_input_share(self->job, worker->seat, worker->seats, task->index);
    const struct hr_prefetch_key key = {task->index, 0, 1, worker->seat, worker->seats};
    const uint64_t hits = worker->stats->prefetch_hits;
    hr_gradient_check_begin(&self->check, worker->grads, worker->shared->params,
                            hr_conditions_nan_at(self->job, worker->rank, worker->steps));
    self->check.threads = worker->shared->update_threads;
    size_t samples = share.count;
    struct hr_batch_result result;
    HR_TRY(hr_train_worker_sit(self));
    if (!self->job->played) /* else others read it while a gradient is computed */
        worker->stats->preempted_ns += self->stood_ns;
    if (self->job->pipeline)
        HR_TRY(hr_staged_gradient(self, &batch, task->index, &samples, &result));
    else
        result = self->job->micro_shards ? hr_micro_shards_gradient(self, task->index, &samples)
                 : self->parts > 1       ? hr_parts_gradient(self, task->index, &samples)
                                         : hr_gradient_of(self, &share, &key, worker->grads);
    rise_for_now(self);
    HR_TRY(check_finite(self, &share, result.loss_sum));
    HR_TRY(load_slowly(self, hits));
    hr_tell_norm(self, samples);
    hr_count_gradient(self, task->index, samples, result.loss_sum);
    return HR_OK;
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
