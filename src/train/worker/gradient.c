/* A worker's gradient of a batch. From the last function below to the first: it takes as long as
 * conditions say; it is that of the worker's share, computed in memory that may have to be borrowed
 * first; one part of the share after another is loaded, and goes through the model forward and
 * backward. What becomes of it then: outcome.h. A pipeline's is staged.c's.
 *
 *   Parts    slices of the share, or (--reduce repro) the worker's micro-shards of the batch. They
 *            are decoded and computed one after another, in memory for one.
 *   Order    T(n) over the n parts (stages/tree_sums.h).
 *
 * --reduce repro: the bits of training do not depend on the number of workers.
 *
 *   Story    a global batch is split into M micro-shards (a power of two, 8 unless told otherwise).
 *            A shard's gradient is computed by itself, so that kernels always see the same shapes,
 *            and the M gradients are added in T(M) (base/vec.h). A worker has M / W neighbouring
 *            shards, W being a power of two: a whole subtree of T(M), which it adds alone. A
 *            strategy that adds in T(W) then adds the subtrees' sums: together the same tree.
 *   Promise  with the same global batch and M, the same weights for W = 1, 2, 4, ... M.
 *   Cost     products of smaller matrices, and M / W - 1 additions of a gradient. It is measured on
 *            the first steps: worker 0 also computes its whole share at once.
 *   Source   the idea of virtual workers: EasyScale (Li et al., SC 2023).
 *   Test     tests/unit/train/test_repro.c
 */
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "checkpoint/digest.h"
#include "observe/spans.h"
#include "server/server_worker.h"
#include "strategy/shared.h"
#include "worker/input.h"
#include "worker/staged.h"
#include "worker/worker.h"

/* --- of a piece of a batch --- */

/* Put the piece's samples where the workspace reads them. */
static void load(struct hr_train_worker *self, const struct hr_batch *piece,
                 const struct hr_prefetch_key *key)
{
    struct hr_worker_stats *stats = self->worker.stats;
    struct hr_workspace *workspace = self->buffers->workspace;
    struct hr_input *input = &self->buffers->input;
    const enum hr_activity was = hr_account_turn(&stats->account, HR_LOAD);
    const bool may_be = self->prefetch && key;
    const struct hr_prefetched *ahead = may_be ? hr_prefetch_take(self->prefetch, key) : NULL;
    hr_workspace_lend(workspace, ahead ? ahead->x : NULL, ahead ? ahead->y : NULL);
    if (!ahead)
        hr_input_decode(input, piece, hr_workspace_input(workspace),
                        hr_workspace_labels(workspace));
    hr_workspace_draw(workspace, ahead ? ahead->pass : input->pass,
                      ahead ? ahead->samples : input->samples);
    stats->prefetch_hits += ahead != NULL;
    stats->prefetch_misses += may_be && !ahead;
    hr_account_turn(&stats->account, was);
}

/* What it computes now is not over: it is put down up to here. */
static void name_parts(struct hr_train_worker *self, int64_t began, int64_t turned, int64_t ended)
{
    struct hr_spans *spans = self->worker.spans;
    if (!spans)
        return;
    hr_account_look(&self->worker.stats->account, ended);
    hr_spans_name(spans, HR_SPAN_COMPUTE, HR_SPAN_FORWARD, began, turned);
    hr_spans_name(spans, HR_SPAN_COMPUTE, HR_SPAN_BACKWARD, turned, ended);
}

/* Does it give away its gradient during backward, a piece at a time, to a strategy that updates
 * from it at once? Where nobody else reads it: not parts or stages that are added first, nor who is
 * told its norm, nor who would compute it once more. */
static bool gives_away(const struct hr_train_worker *self)
{
    const struct hr_train_job *job = self->job;
    return self->worker.hooks->piece && !job->serial && !job->pipeline &&
           !hr_train_job_has_parts(job) && !job->shared->feed.steps;
}

static void give_piece(void *arg, const struct hr_final_piece *piece)
{
    struct hr_train_worker *self = arg;
    const int64_t began = hr_clock_ns();
    if (hr_gradient_check_piece(&self->check, piece))
        self->worker.hooks->piece(&self->worker, piece);
    self->final_ns += hr_clock_ns() - began;
}

static struct hr_taker taker_of(struct hr_train_worker *self)
{
    const struct hr_worker *worker = &self->worker;
    const size_t params = worker->shared->params;
    struct hr_taker taker = {give_piece, self, {worker->weights}};
    const size_t nstates = worker->state ? worker->shared->optimizer.rule->nstates : 0;
    for (size_t s = 0; s < nstates && s + 1 < HR_TAKER_BESIDE; s++)
        taker.beside[s + 1] = worker->state + s * params;
    return taker;
}

/* Into grads (params): the sum over the samples of a piece.
 *   key  by which it may have been decoded ahead; NULL: it has not */
static struct hr_batch_result gradient_of(struct hr_train_worker *self,
                                          const struct hr_batch *piece,
                                          const struct hr_prefetch_key *key, float *grads)
{
    struct hr_worker_stats *stats = self->worker.stats;
    load(self, piece, key);
    const struct hr_taker taker = taker_of(self);
    hr_workspace_give(self->buffers->workspace, gives_away(self) ? &taker : NULL);
    const int64_t began = hr_clock_ns(), between = self->final_ns;
    const struct hr_batch_result result = hr_model_gradient(
        self->job->model, self->buffers->workspace, self->worker.weights, piece->count, grads);
    hr_workspace_give(self->buffers->workspace, NULL);
    if (!self->job->serial) {
        const int64_t ended = hr_clock_ns(), turned = began + result.forward_ns;
        stats->forward_ns += result.forward_ns;
        name_parts(self, began, turned, ended);
        stats->backward_ns += ended - began - result.forward_ns - (self->final_ns - between);
    }
    return result;
}

/* --- of a share, part by part --- */

/* How many parts a share has: more where fewer than all share a batch. */
static size_t parts_of(const struct hr_train_job *job, size_t group_size)
{
    const size_t workers = job->shared->workers;
    return job->shared->strategy->shares_batch
               ? job->parts * ((workers + group_size - 1) / group_size)
               : job->parts;
}

/* First steps of the run, in which --reduce repro's cost is measured; the very first only warms the
 * caches. */
enum { COST_FIRST = 2, COST_STEPS = 8 };

/* The same samples at once, for the clock only; what it has of the share is no longer needed. */
static void measure_cost(struct hr_train_worker *self, const struct hr_batch *share,
                         int64_t began_ns)
{
    const struct hr_worker *worker = &self->worker;
    const uint64_t step = worker->index - 1 - worker->shared->schedule.first;
    if (worker->rank != 0 || self->parts == 1 || step < COST_FIRST ||
        step >= COST_FIRST + COST_STEPS || share->count > self->job->batch_size)
        return;
    const int64_t middle = hr_clock_ns();
    gradient_of(self, share, NULL, self->buffers->sums.sums[0]);
    worker->stats->repro_ns += middle - began_ns;
    worker->stats->whole_ns += hr_clock_ns() - middle;
}

/* Into the worker's grads: the sum over its share of batch `index`. */
static struct hr_batch_result gradient_of_share(struct hr_train_worker *self,
                                                const struct hr_batch *share, uint64_t index)
{
    const struct hr_worker *worker = &self->worker;
    const int64_t began = hr_clock_ns();
    struct hr_batch_result sum = {0};
    for (size_t i = 0; i < self->parts; i++) {
        /* Larger ones come first: those of a share of micro-shards are the micro-shards. */
        const struct hr_batch part = hr_input_part(share, self->parts, i);
        const struct hr_prefetch_key key = {index, i, self->parts, worker->group_rank,
                                            worker->group_size};
        const struct hr_batch_result result = gradient_of(self, &part, &key, worker->grads);
        hr_tree_sums_carry(&self->buffers->sums, i, self->parts, worker->grads);
        sum.loss_sum += result.loss_sum;
        sum.correct += result.correct;
    }
    if (self->job->micro_shards)
        measure_cost(self, share, began);
    return sum;
}

/* --- memory to compute in --- */

void hr_train_worker_borrow(struct hr_train_worker *self, struct hr_compute_buffers *buffers)
{
    self->buffers = buffers;
    buffers->borrower = self;
}

enum hr_status hr_train_worker_take_buffers(struct hr_train_worker *self)
{
    struct hr_buffer_pool *pool = self->job->pool;
    struct hr_compute_buffers *buffers;
    if (!pool)
        return HR_OK;
    HR_TRY(hr_buffer_pool_take(pool, &self->waiter, self->worker.rank, &buffers, &self->stood_ns));
    hr_train_worker_borrow(self, buffers);
    return HR_OK;
}

void hr_train_worker_return_buffers(struct hr_train_worker *self)
{
    if (self->job->pool)
        hr_buffer_pool_give_back(self->job->pool, self->buffers);
}

/* What follows may wait, or sleep. */
static void return_for_now(struct hr_train_worker *self)
{
    if (!self->job->pool || hr_conditions_matter(&self->job->conditions))
        hr_train_worker_return_buffers(self);
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

/* --- of a worker's share of a batch --- */

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
static enum hr_status sleep_until(const struct hr_train_worker *self, int64_t until_ns,
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
    HR_TRY(sleep_until(self, began + ps / 1000, "its slow input"));
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

void hr_train_worker_begin(struct hr_train_worker *self, uint64_t index)
{
    const struct hr_worker *worker = &self->worker;
    if (hr_train_job_streams(self->job) && index > worker->shared->schedule.first)
        return; /* its stages write its weights by now */
    hr_conditions_flip_bit(self->job, worker->rank, worker->steps, worker->weights);
    self->at_the_start = is_at_the_start(self, index);
    hr_staged_begin(self);
}

enum hr_status hr_train_worker_drain(struct hr_train_worker *self)
{
    return hr_train_job_streams(self->job) ? hr_streamed_drain(self) : HR_OK;
}

enum hr_status hr_train_worker_gradient(struct hr_train_worker *self, uint64_t index)
{
    const struct hr_train_job *job = self->job;
    const struct hr_worker *worker = &self->worker;
    const uint64_t hits = worker->stats->prefetch_hits;
    struct hr_batch_result result;
    if (hr_train_job_streams(job)) {
        HR_TRY(hr_streamed_put(self, index));
        return load_slowly(self, hits);
    }
    self->parts = parts_of(job, worker->group_size); /* the group may change from step to step */
    const struct hr_batch share =
        hr_input_share(job, worker->group_rank, worker->group_size, index);
    hr_gradient_check_begin(&self->check, worker->grads, worker->shared->params,
                            hr_conditions_nan_at(job, worker->rank, worker->steps));
    self->check.threads = worker->shared->update_threads;
    HR_TRY(hr_train_worker_take_buffers(self));
    if (!job->serial) /* else others read it while a gradient is computed */
        worker->stats->preempted_ns += self->stood_ns;
    if (job->pipeline)
        HR_TRY(hr_staged_gradient(self, &share, index, &result));
    else
        result = gradient_of_share(self, &share, index);
    return_for_now(self);
    HR_TRY(check_finite(self, &share, result.loss_sum));
    HR_TRY(load_slowly(self, hits));
    hr_report_norm(self, share.count);
    hr_count_gradient(self, index, share.count, result.loss_sum);
    return HR_OK;
}

/* --- on the real clock --- */

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
    HR_TRY(sleep_until(self, until, "its own slowness"));
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
    HR_TRY(sleep_until(self, began + ps / 1000, "the end of its stall"));
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
static enum hr_status gradient(struct hr_train_worker *self, uint64_t index)
{
    const bool asks = self->worker.took_ns >= WORTH_ASKING_NS && !self->job->pipeline &&
                      self->job->options->threads_per_worker == 1;
    if (!asks)
        return hr_train_worker_gradient(self, index);
    const int64_t had = hr_clock_thread_ns(), before = computed_ns(self);
    HR_TRY(hr_train_worker_gradient(self, index));
    const int64_t away = computed_ns(self) - before - (hr_clock_thread_ns() - had);
    self->worker.stats->preempted_ns += away > self->stood_ns ? away - self->stood_ns : 0;
    return HR_OK;
}

enum hr_status hr_gradient_in_time(struct hr_train_worker *self, uint64_t index, int64_t now_ps)
{
    const uint64_t step = self->worker.steps;
    hr_train_worker_begin(self, index);
    if (!hr_conditions_matter(&self->job->conditions))
        return gradient(self, index);
    if (hr_conditions_kill(self->job, self->worker.rank, step, now_ps))
        return hr_conditions_die(self->job, self->worker.rank);
    HR_TRY(stall(self, step));
    const int64_t began = hr_clock_ns(), had = hr_clock_thread_ns();
    HR_TRY(gradient(self, index));
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
