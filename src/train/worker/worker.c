#include "worker/worker.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/size.h"
#include "checkpoint/digest.h"
#include "observe/spans.h"
#include "server/server_worker.h"
#include "session/class_scores.h"
#include "strategy/shared.h"
#include "worker/compute_buffers.h"
#include "worker/gradient.h"
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

/* How many parts a share has: more where fewer than all share a batch. */
static size_t parts_of(const struct hr_train_job *job, size_t group_size)
{
    const size_t workers = job->shared->workers;
    return job->shared->strategy->shares_batch
               ? job->parts * ((workers + group_size - 1) / group_size)
               : job->parts;
}

bool hr_train_worker_enter_group(struct hr_train_worker *self)
{
    struct hr_worker *worker = &self->worker;
    const struct hr_active *active = self->job->shared->active;
    worker->group_size = active->n;
    worker->group_rank = 0;
    while (worker->group_rank < active->n && active->rank[worker->group_rank] != worker->rank)
        worker->group_rank++;
    self->parts = parts_of(self->job, active->n);
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

void hr_train_worker_borrow(struct hr_train_worker *self, struct hr_compute_buffers *buffers)
{
    self->buffers = buffers;
    buffers->borrower = self;
    buffers->final = hand_over;
}

/* Where the job has a pool of buffers: borrow some of it, and give them back. Else nothing.
 * HR_E_ABORTED, HR_E_REVOKED, HR_E_TIMEOUT: nobody gave any back. */
static enum hr_status train_worker_sit(struct hr_train_worker *self)
{
    struct hr_buffer_pool *pool = self->job->pool;
    struct hr_compute_buffers *buffers;
    if (!pool)
        return HR_OK;
    HR_TRY(hr_buffer_pool_take(pool, &self->waiter, self->worker.rank, &buffers, &self->stood_ns));
    hr_train_worker_borrow(self, buffers);
    return HR_OK;
}

static void train_worker_rise(struct hr_train_worker *self)
{
    if (self->job->pool)
        hr_buffer_pool_give_back(self->job->pool, self->buffers);
}

/* What follows may wait, or sleep. */
static void rise_for_now(struct hr_train_worker *self)
{
    if (!self->job->pool || hr_conditions_matter(&self->job->conditions))
        train_worker_rise(self);
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
static enum hr_status train_worker_sleep(const struct hr_train_worker *self, int64_t until_ns,
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
    const int64_t ps = hr_inject_load_ps(&self->job->conditions.inject, self->worker.rank);
    self->slept_ns = 0;
    if (ps == 0 || self->job->serial || stats->prefetch_hits > hits)
        return HR_OK;
    const enum hr_activity was = hr_account_turn(&stats->account, HR_LOAD);
    const int64_t began = hr_clock_ns();
    HR_TRY(train_worker_sleep(self, began + ps / 1000, "its slow input"));
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
    self->parts =
        parts_of(self->job, worker->group_size); /* the group may change from step to step */
    const struct hr_batch share =
        hr_input_share(self->job, worker->group_rank, worker->group_size, task->index);
    const struct hr_prefetch_key key = {task->index, 0, 1, worker->group_rank, worker->group_size};
    const uint64_t hits = worker->stats->prefetch_hits;
    hr_gradient_check_begin(&self->check, worker->grads, worker->shared->params,
                            hr_conditions_nan_at(self->job, worker->rank, worker->steps));
    self->check.threads = worker->shared->update_threads;
    size_t samples = share.count;
    struct hr_batch_result result;
    HR_TRY(train_worker_sit(self));
    if (!self->job->serial) /* else others read it while a gradient is computed */
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
    hr_report_norm(self, samples);
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
    HR_TRY(train_worker_sit(self));
    evaluate_blocks(self);
    train_worker_rise(self);
    return HR_OK;
}

/* Sleep until the gradient, begun at began_ns with own_ns of processor time, has taken as long as
 * the conditions say. Only processor time is stretched, not waiting for a processor. A worker that
 * wakes late sleeps less in the next step, so that a busy machine does not slow every step. */
static enum hr_status take_longer(struct hr_train_worker *self, uint64_t step, int64_t began_ns,
                                  int64_t own_ns)
{
    const int64_t now = hr_clock_ns(), late = self->late_ns;
    const int64_t ps = hr_conditions_compute_ps(self->job, self->worker.rank, step, 1000 * own_ns);
    const int64_t until = began_ns - late + ps / 1000;
    self->late_ns = 0;
    if (until <= now)
        return HR_OK;
    HR_TRY(train_worker_sleep(self, until, "its own slowness"));
    const int64_t woken = hr_clock_ns();
    self->late_ns = woken > until ? woken - until : 0;
    return HR_OK;
}

static enum hr_status stall(struct hr_train_worker *self, uint64_t step)
{
    struct hr_account *account = &self->worker.stats->account;
    const int64_t ps = hr_inject_stall_ps(&self->job->conditions.inject, self->worker.rank, step);
    if (ps == 0)
        return HR_OK;
    hr_account_turn(account, HR_WAIT);
    const int64_t began = hr_clock_ns();
    HR_TRY(train_worker_sleep(self, began + ps / 1000, "the end of its stall"));
    const int64_t ended = hr_clock_ns();
    self->worker.stats->stalled_ns += ended - began;
    hr_account_turn(account, HR_COMPUTE);
    hr_spans_name(self->worker.spans, HR_SPAN_WAIT, HR_SPAN_STALL, began, ended);
    return HR_OK;
}

/* Asking for the time on the processor is a system call, so short steps are not asked. */
enum { WORTH_ASKING_NS = 200 * 1000 };

/* Computing so far; it computes now. */
static int64_t computed_ns(const struct hr_train_worker *self)
{
    const struct hr_account *account = &self->worker.stats->account;
    return account->spent_ns[HR_COMPUTE] + hr_clock_ns() - account->since_ns;
}

/* Its gradient, and how long that had no processor. What was on it while it loaded counts as if it
 * had computed: too little rather than too much is said to have been taken away. */
static enum hr_status gradient(struct hr_train_worker *self, const struct hr_task *task)
{
    const bool asks = self->worker.took_ns >= WORTH_ASKING_NS && !self->job->pipeline &&
                      self->job->options->threads_per_worker == 1;
    if (!asks)
        return hr_train_worker_gradient(self, task);
    const int64_t had = hr_clock_thread_ns(), before = computed_ns(self);
    HR_TRY(hr_train_worker_gradient(self, task));
    const int64_t away = computed_ns(self) - before - (hr_clock_thread_ns() - had);
    self->worker.stats->preempted_ns += away > self->stood_ns ? away - self->stood_ns : 0;
    return HR_OK;
}

enum hr_status hr_gradient_in_time(struct hr_train_worker *self, const struct hr_task *task,
                                   int64_t now_ps)
{
    const uint64_t step = self->worker.steps;
    hr_train_worker_begin(self, task);
    if (!hr_conditions_matter(&self->job->conditions))
        return gradient(self, task);
    if (hr_conditions_kill(self->job, self->worker.rank, step, now_ps))
        return hr_conditions_die(self->job, self->worker.rank);
    HR_TRY(stall(self, step));
    const int64_t began = hr_clock_ns(), had = hr_clock_thread_ns();
    HR_TRY(gradient(self, task));
    return take_longer(self, step, began + self->slept_ns, hr_clock_thread_ns() - had);
}

static int64_t one_deadline_from_now(const struct hr_train_worker *self)
{
    return hr_clock_ns() + hr_inject_deadline_ps(&self->job->conditions.inject) / 1000;
}

struct hr_deadline hr_deadline_begin(struct hr_train_worker *self)
{
    return (struct hr_deadline){self, one_deadline_from_now(self)};
}

bool hr_deadline_has_passed(void *arg)
{
    struct hr_deadline *deadline = arg;
    struct hr_train_worker *self = deadline->self;
    const struct hr_atom32 *stop = &self->job->shared->dispenser->stop;
    const bool passed = hr_clock_ns() >= deadline->until_ns;
    if ((passed || hr_atom32_load_acquire(stop)) && /* partner: launcher.c */
        hr_requests_are_taken(&self->worker))
        return true;
    if (passed)
        deadline->until_ns = one_deadline_from_now(self);
    self->waiter.alarm_ns = deadline->until_ns;
    return false;
}
