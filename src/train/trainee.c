/* A worker's own work: which gradient, which part of an evaluation. */
#include <math.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/size.h"
#include "base/vec.h"
#include "kernels/gemm.h"
#include "train/prefetch.h"
#include "train/run.h"

static enum hr_status start_worker(struct hr_trainee *trainee, size_t rank)
{
    struct hr_run *run = trainee->run;
    struct hr_shared_state *shared = &run->shared;
    const struct hr_place place = {.group = shared->group,
                                   .segment = shared->segment,
                                   .control = shared->control,
                                   .waiter = &trainee->waiter,
                                   .wires = run->wires.nranks ? &run->wires : NULL};
    const bool sleeps = place.wires || hr_conditions_matter(&run->conditions);
    if (sleeps && !hr_run_is_played(run)) /* else the kernel rounds sleeps up by 50 us */
        prctl(PR_SET_TIMERSLACK, 1);
    trainee->worker = (struct hr_worker){
        .shared = shared,
        .rank = rank,
        .waiter = &trainee->waiter,
        .stats = &shared->stats[rank],
        .weights = shared->weights[rank],
        .grads = shared->grads[rank],
        .index = shared->course.first,
        .cut = hr_batch_schedule_next_cut(&shared->course, shared->course.first),
    };
    if (run->local)
        hr_member_init_local(&trainee->worker.member, run->local, rank);
    else
        HR_TRY(hr_member_init(&trainee->worker.member, &shared->group_options, &place, rank));
    const enum hr_status status = hr_worker_start(&trainee->worker);
    if (status != HR_OK)
        hr_member_fini(&trainee->worker.member);
    return status;
}

static enum hr_status start_prefetch(struct hr_trainee *trainee, size_t rank)
{
    const struct hr_run *run = trainee->run;
    const struct hr_shared_state *shared = &run->shared;
    const struct hr_prefetch_options options = {
        .run = run,
        .rank = rank,
        .ahead = run->options->prefetch,
        .max_samples = run->batch_size,
        .first = shared->course.first + (shared->strategy->shares_batch ? 0 : rank),
        .end = shared->course.end,
        .stride = shared->strategy->shares_batch ? 1 : shared->workers,
    };
    if (!hr_run_prefetches(run))
        return HR_OK;
    return hr_prefetch_start(&options, &trainee->prefetch);
}

void hr_trainee_final(struct hr_trainee *trainee, size_t offset)
{
    struct hr_worker *worker = &trainee->worker;
    struct hr_account *account = &worker->stats->account;
    const enum hr_activity was = hr_account_turn(account, HR_COMMUNICATE);
    const int64_t began = hr_clock_ns();
    worker->shared->strategy->final(worker, offset);
    trainee->final_ns += hr_clock_ns() - began;
    hr_account_turn(account, was);
}

enum hr_status hr_trainee_start(struct hr_trainee *trainee, struct hr_run *run, size_t rank)
{
    enum hr_status status;
    *trainee = (struct hr_trainee){
        .run = run,
        .waiter = {.abort = &run->shared.control->abort,
                   .spin_ns = run->spin_ns,
                   .yield_ns = run->yield_ns,
                   .timeout_ns = run->timeout_ns,
                   .account = &run->shared.stats[rank].account},
    };
    HR_TRY(start_prefetch(trainee, rank));
    HR_TRY_GOTO(start_worker(trainee, rank), status, out);
    return HR_OK;
out:
    hr_prefetch_stop(trainee->prefetch);
    return status;
}

void hr_trainee_stop(struct hr_trainee *trainee)
{
    hr_worker_stop(&trainee->worker);
    hr_member_fini(&trainee->worker.member);
    hr_prefetch_stop(trainee->prefetch);
}

void hr_trainee_borrow(struct hr_trainee *trainee, struct hr_device *device)
{
    trainee->device = device;
    device->borrower = trainee;
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

/* What the time is spent on is up to the caller: the sleeper keeps no account. */
enum hr_status hr_trainee_sleep(const struct hr_trainee *trainee, int64_t until_ns,
                                const char *what)
{
    const struct hr_run *run = trainee->run;
    struct sleeper sleeper = {.waiter = {.abort = trainee->waiter.abort},
                              .stop = &run->shared.dispenser->stop,
                              .until_ns = until_ns};
    return hr_wait_until(&sleeper.waiter, &run->shared.control->rank[trainee->worker.rank].bell,
                         has_slept, &sleeper, what);
}

/* Have a part of batch `index` where the workspace reads it: all of this worker's, if it was
 * decoded ahead. */
static void load(struct hr_trainee *trainee, const struct hr_batch *part, uint64_t index)
{
    struct hr_worker_stats *stats = trainee->worker.stats;
    struct hr_workspace *workspace = trainee->device->workspace;
    struct hr_input *input = &trainee->device->input;
    const enum hr_activity was = hr_account_turn(&stats->account, HR_LOAD);
    const struct hr_prefetched *ahead =
        trainee->prefetch ? hr_prefetch_take(trainee->prefetch, index) : NULL;
    hr_workspace_lend(workspace, ahead ? ahead->x : NULL, ahead ? ahead->y : NULL);
    if (!ahead)
        hr_input_decode(input, part, hr_workspace_input(workspace), hr_workspace_labels(workspace));
    hr_workspace_draw(workspace, ahead ? ahead->pass : input->pass,
                      ahead ? ahead->samples : input->samples);
    stats->prefetch_hits += ahead != NULL;
    stats->prefetch_misses += trainee->prefetch && !ahead;
    hr_account_turn(&stats->account, was);
}

/* --inject load: unless the batch was decoded ahead, and all that with it. */
static enum hr_status load_slowly(struct hr_trainee *trainee, uint64_t hits)
{
    struct hr_worker_stats *stats = trainee->worker.stats;
    const int64_t ps = hr_conditions_load_ps(trainee->run, trainee->worker.rank);
    trainee->slept_ns = 0;
    if (ps == 0 || hr_run_is_played(trainee->run) || stats->prefetch_hits > hits)
        return HR_OK;
    const enum hr_activity was = hr_account_turn(&stats->account, HR_LOAD);
    const int64_t began = hr_clock_ns();
    HR_TRY(hr_trainee_sleep(trainee, began + ps / 1000, "its slow input"));
    trainee->slept_ns = hr_clock_ns() - began;
    hr_account_turn(&stats->account, was);
    return HR_OK;
}

/* The gradient of what was loaded. */
static struct hr_batch_result gradient(struct hr_trainee *trainee, size_t count, float *grads)
{
    struct hr_worker_stats *stats = trainee->worker.stats;
    const int64_t began = hr_clock_ns(), between = trainee->final_ns;
    const struct hr_batch_result result = hr_model_gradient(
        trainee->run->model, trainee->device->workspace, trainee->worker.weights, count, grads);
    if (!hr_run_is_played(trainee->run)) {
        stats->forward_ns += result.forward_ns;
        stats->backward_ns +=
            hr_clock_ns() - began - result.forward_ns - (trainee->final_ns - between);
    }
    return result;
}

static struct hr_batch_result differentiate(struct hr_trainee *trainee, const struct hr_batch *part,
                                            uint64_t index)
{
    load(trainee, part, index);
    return gradient(trainee, part->count, trainee->worker.grads);
}

struct hr_batch_result hr_trainee_differentiate(struct hr_trainee *trainee,
                                                const struct hr_batch *piece, float *grads)
{
    load(trainee, piece, UINT64_MAX);
    return gradient(trainee, piece->count, grads);
}

/* What is not finite goes no further: nothing would take it out of the shared weights again. A
 * synchronous strategy may have sent parts of the gradient already; there the next loss tells. */
static enum hr_status check_finite(const struct hr_trainee *trainee, const struct hr_batch *share,
                                   double loss)
{
    const struct hr_worker *worker = &trainee->worker;
    const struct hr_shared_state *shared = worker->shared;
    const char *what =
        !isfinite(loss) ? "the loss is not finite"
        : !shared->strategy->synchronous && !hr_vec()->all_finite(worker->grads, shared->params)
            ? "the gradient is not finite, though the loss is"
            : NULL;
    if (!what)
        return HR_OK;
    return hr_fail(HR_E_DIVERGED,
                   "%s (%g) in epoch %llu, samples %llu to %llu of its order; a smaller --lr may "
                   "help",
                   what, loss, (unsigned long long)share->epoch + 1,
                   (unsigned long long)share->first + 1,
                   (unsigned long long)(share->first + share->count));
}

/* Is the gradient of batch `index` one at the weights that the run began with: this worker's first,
 * and others have not moved them yet? The snapshot holds them until the first cut. Only at random
 * are losses so much alike that these few say where the loss begins. */
static bool is_at_the_start(const struct hr_trainee *trainee, uint64_t index)
{
    const struct hr_run *run = trainee->run;
    const struct hr_worker *worker = &trainee->worker;
    const struct hr_shared_state *shared = worker->shared;
    const bool at_random = shared->course.first == 0 && !run->options->init_weights[0];
    return at_random && worker->steps == 0 &&
           index < hr_batch_schedule_next_cut(&shared->course, 0) &&
           !memcmp(worker->weights, shared->snapshot.weights,
                   shared->params * sizeof *worker->weights);
}

enum hr_status hr_trainee_gradient(struct hr_trainee *trainee, const struct hr_task *task)
{
    struct hr_worker *worker = &trainee->worker;
    const struct hr_batch batch = hr_batch_schedule_batch(&worker->shared->course, task->index);
    const struct hr_batch share = hr_input_share(trainee->run, worker->rank, task->index);
    const uint64_t hits = worker->stats->prefetch_hits;
    const bool at_the_start = is_at_the_start(trainee, task->index);
    size_t samples = share.count;
    const struct hr_batch_result result = trainee->device->repro.shards
                                              ? hr_repro_gradient(trainee, &batch, &samples)
                                              : differentiate(trainee, &share, task->index);
    HR_TRY(check_finite(trainee, &share, result.loss_sum));
    HR_TRY(load_slowly(trainee, hits));
    worker->stats->steps = ++worker->steps;
    worker->samples = samples;
    worker->epoch_loss = worker->stats->epoch_loss;
    worker->stats->samples += samples;
    worker->stats->epoch_samples += samples;
    worker->stats->epoch_loss += result.loss_sum;
    if (at_the_start) {
        worker->stats->first_samples = samples;
        worker->stats->first_loss = result.loss_sum;
    }
    hr_atom64_store_relaxed(&worker->stats->seen, worker->stats->samples);
    return HR_OK;
}

/* Test samples [first, first + count), in pieces that fit the workspace. */
static struct hr_batch_result evaluate_block(struct hr_trainee *trainee, size_t first, size_t count)
{
    const struct hr_run *run = trainee->run;
    struct hr_device *device = trainee->device;
    struct hr_batch_result sum = {0};
    const size_t rows = hr_input_eval_rows(run->dataset);
    for (size_t done = 0; done < count; done += rows) {
        const size_t n = hr_min_size(rows, count - done);
        hr_input_decode_test(&device->input, first + done, n, hr_workspace_input(device->workspace),
                             hr_workspace_labels(device->workspace));
        hr_model_evaluate_more(run->model, device->workspace, run->shared.snapshot.weights, n,
                               &sum);
    }
    return sum;
}

void hr_trainee_evaluate(struct hr_trainee *trainee)
{
    const struct hr_run *run = trainee->run;
    const size_t tests = run->dataset->test.count;
    hr_workspace_lend(trainee->device->workspace, NULL, NULL);
    for (size_t block = trainee->worker.rank; block < run->leader.neval;
         block += run->shared.workers) {
        const size_t first = block * HR_EVAL_BLOCK;
        const size_t count = hr_min_size(HR_EVAL_BLOCK, tests - first);
        const struct hr_batch_result result = evaluate_block(trainee, first, count);
        run->leader.cells[block] = (struct hr_eval_cell){result.loss_sum, result.correct};
    }
}

void hr_trainee_leave_cut(struct hr_trainee *trainee)
{
    const struct hr_cut *cut = trainee->run->leader.cuts.cut;
    struct hr_worker *worker = &trainee->worker;
    const struct hr_batch_schedule *course = &worker->shared->course;
    if (hr_batch_schedule_ends_epoch(course, cut->index)) {
        worker->stats->epoch_loss = 0;
        worker->stats->epoch_samples = 0;
    }
    if (!cut->halt && worker->shared->strategy->synchronous)
        worker->cut = hr_batch_schedule_next_cut(course, cut->index);
}
