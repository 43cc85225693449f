#include "worker/gradient.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/size.h"
#include "base/vec.h"
#include "kernels/team.h"
#include "observe/spans.h"
#include "optim/rules.h"
#include "strategy/shared.h"
#include "worker/worker.h"

enum hr_status hr_ahead_list(const struct hr_train_job *job, struct hr_model_final **out, size_t *n)
{
    struct hr_model_final at;
    size_t least, end = job->shared->params, moments = 0;
    *out = NULL;
    *n = 0;
    HR_TRY(hr_overlap_least(job->shared, &least));
    if (least == SIZE_MAX || !job->shared->servers)
        return HR_OK;
    while (hr_model_final(job->model, moments, &at))
        moments++;
    *out = calloc(moments + 1, sizeof **out);
    if (!*out)
        return hr_fail(HR_E_NOMEM, "no memory for the parts of a push");
    for (size_t i = 0; i < moments; i++) {
        hr_model_final(job->model, i, &at);
        if (!hr_overlap_goes_ahead(least, at.offset, end))
            continue;
        (*out)[(*n)++] = at;
        end = at.offset;
    }
    return HR_OK;
}

void hr_gradient_check_begin(struct hr_gradient_check *check, float *grads, size_t params,
                             size_t nan_at)
{
    *check = (struct hr_gradient_check){grads, params, nan_at, .found = SIZE_MAX};
}

/* Pieces of an array, one a thread. */
struct look {
    const float *x;
    size_t count, threads;
    bool finite[HR_TEAM_MAX];
};

static void look_at_piece(void *arg, size_t piece, size_t thread)
{
    struct look *look = arg;
    const size_t begin = hr_split_begin(look->count, look->threads, piece);
    (void)thread;
    look->finite[piece] = hr_vec()->all_finite(
        look->x + begin, hr_split_begin(look->count, look->threads, piece + 1) - begin);
}

static bool all_finite(const float *x, size_t count, size_t threads)
{
    struct look look = {.x = x, .count = count, .threads = threads ? threads : 1};
    bool all = true;
    hr_team_run(look.threads, look.threads, look_at_piece, &look);
    for (size_t i = 0; i < look.threads; i++)
        all &= look.finite[i];
    return all;
}

bool hr_gradient_check_from(struct hr_gradient_check *check, size_t offset)
{
    const size_t end = check->unchecked;
    if (offset >= end || check->found != SIZE_MAX)
        return check->found == SIZE_MAX;
    check->unchecked = offset;
    if (check->nan_at >= offset && check->nan_at < end)
        check->grads[check->nan_at] = NAN;
    if (all_finite(check->grads + offset, end - offset, check->threads))
        return true;
    for (check->found = offset; isfinite(check->grads[check->found]);)
        check->found++;
    check->value = check->grads[check->found];
    return false;
}

/* The numbers of parameters [begin, begin + count). */
static void check_row(struct hr_gradient_check *check, size_t begin, size_t count, float *values)
{
    size_t i = 0;
    if (check->nan_at >= begin && check->nan_at < begin + count)
        values[check->nan_at - begin] = NAN;
    if (hr_vec()->all_finite(values, count))
        return;
    while (isfinite(values[i]))
        i++;
    check->found = begin + i;
    check->value = values[i];
}

bool hr_gradient_check_piece(struct hr_gradient_check *check, const struct hr_final_piece *piece)
{
    const size_t run = hr_final_run(piece), rows = run ? 1 : piece->rows;
    check->unchecked = 0;
    for (size_t i = 0; check->found == SIZE_MAX && i < rows; i++)
        check_row(check, piece->begin + i * piece->step, run ? run : piece->columns,
                  piece->values + i * piece->stride);
    return check->found == SIZE_MAX;
}

void hr_report_begin(struct hr_train_worker *self)
{
    const struct hr_stale *stale = &self->worker.stats->stale;
    self->reports.n = 0;
    self->reports.norm = NAN;
    self->reports.stale_updates = stale->updates;
    self->reports.stale_sum = stale->sum;
}

/* Pieces that are summed in place during backward are no gradient of its own any more. */
void hr_report_norm(struct hr_train_worker *self, size_t samples)
{
    const struct hr_worker *worker = &self->worker;
    const struct hr_param_segment all = {.count = worker->shared->params};
    const bool summed =
        hr_train_job_overlaps(self->job) && !hr_strategy_is_served(worker->shared->strategy);
    if (!worker->shared->feed.steps || summed || !samples)
        return;
    self->reports.norm = (float)(sqrt(hr_norm_squares(worker->grads, &all)) / (double)samples);
}

static void report_gradient(struct hr_train_worker *self, uint64_t index, size_t samples,
                            double loss_sum)
{
    struct hr_step_reports *reports = &self->reports;
    if (!self->worker.shared->feed.steps)
        return;
    HR_ASSERT(reports->n < HR_REPORTS_MOST);
    reports->step[reports->n++] = (struct hr_counted_step){
        index, samples, self->worker.stats->samples, loss_sum, reports->norm};
    reports->norm = NAN;
}

/* Of the update that was counted since it told last. */
static uint32_t staleness_of(struct hr_train_worker *self, const struct hr_counted_step *step)
{
    if (self->worker.stats->samples < step->counted)
        return HR_DROPPED;
    if (hr_strategy_never_stale(self->worker.shared->strategy))
        return 0;
    struct hr_step_reports *reports = &self->reports;
    const struct hr_stale *stale = &self->worker.stats->stale;
    const uint64_t updates = stale->updates - reports->stale_updates;
    const uint64_t sum = stale->sum - reports->stale_sum;
    reports->stale_updates = stale->updates;
    reports->stale_sum = stale->sum;
    return updates == 1 && sum < HR_DROPPED ? (uint32_t)sum : HR_NOT_STALE;
}

static void spend(struct hr_train_worker *self, struct hr_step_record *record)
{
    struct hr_worker_stats *stats = self->worker.stats;
    for (int a = 0; a < HR_ACTIVITIES; a++) {
        hr_record_spend(record, (enum hr_activity)a,
                        stats->account.spent_ns[a] - stats->reported_ns[a]);
        stats->reported_ns[a] = stats->account.spent_ns[a];
    }
}

static enum hr_status report(struct hr_train_worker *self, int64_t trained_ns)
{
    struct hr_step_reports *reports = &self->reports;
    struct hr_worker *worker = &self->worker;
    const struct hr_shared_state *shared = worker->shared;
    const size_t n = reports->n;
    reports->n = 0;
    for (size_t i = 0; i < n; i++) {
        const struct hr_counted_step *step = &reports->step[i];
        struct hr_step_record record = {
            .kind = HR_RECORD_STEP,
            .index = step->index,
            .samples = (uint32_t)step->samples,
            .loss_sum = step->loss_sum,
            .norm = step->norm,
            .at_ns = trained_ns,
            .staleness = staleness_of(self, step),
        };
        spend(self, &record);
        HR_TRY(hr_feed_put(&shared->feed, worker->rank, &self->waiter, &record));
    }
    return HR_OK;
}

enum hr_status hr_report_steps(struct hr_train_worker *self, int64_t trained_ns)
{
    return self->reports.n ? report(self, trained_ns) : HR_OK;
}

void hr_count_gradient(struct hr_train_worker *self, uint64_t index, size_t samples,
                       double loss_sum)
{
    struct hr_worker *worker = &self->worker;
    hr_stats_begin(worker->stats, index);
    worker->stats->steps = ++worker->steps;
    worker->samples = samples;
    worker->epoch_loss = worker->stats->epoch_loss;
    worker->stats->samples += samples;
    worker->stats->epoch_samples += samples;
    worker->stats->epoch_loss += loss_sum;
    if (self->at_the_start) {
        worker->stats->first_samples = samples;
        worker->stats->first_loss = loss_sum;
    }
    hr_atom64_store_relaxed(&worker->stats->seen, worker->stats->samples);
    hr_stats_end(worker->stats);
    report_gradient(self, index, samples, loss_sum);
}

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

static void hand_over(void *arg, const struct hr_final_piece *piece)
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
    struct hr_taker taker = {hand_over, self, {worker->weights}};
    const size_t nstates = worker->state ? worker->shared->optimizer.rule->nstates : 0;
    for (size_t s = 0; s < nstates && s + 1 < HR_TAKER_BESIDE; s++)
        taker.beside[s + 1] = worker->state + s * params;
    return taker;
}

struct hr_batch_result hr_gradient_of(struct hr_train_worker *self, const struct hr_batch *piece,
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

struct hr_batch hr_part_of(const struct hr_train_worker *self, const struct hr_batch *batch,
                           size_t i)
{
    const struct hr_worker *worker = &self->worker;
    /* Larger pieces come first: those of a share of micro-shards are the micro-shards. */
    const struct hr_batch share =
        hr_input_share_of(self->job, worker->group_rank, worker->group_size, batch);
    return hr_input_part(&share, self->parts, i);
}

struct hr_batch_result hr_parts_gradient(struct hr_train_worker *self, uint64_t index,
                                         size_t *samples)
{
    struct hr_worker *worker = &self->worker;
    const struct hr_batch batch = hr_batch_schedule_batch(&worker->shared->schedule, index);
    struct hr_batch_result sum = {0};
    *samples = 0;
    for (size_t i = 0; i < self->parts; i++) {
        const struct hr_batch part = hr_part_of(self, &batch, i);
        const struct hr_prefetch_key key = {index, i, self->parts, worker->group_rank,
                                            worker->group_size};
        const struct hr_batch_result result = hr_gradient_of(self, &part, &key, worker->grads);
        hr_tree_sums_carry(&self->buffers->sums, i, self->parts, worker->grads);
        sum.loss_sum += result.loss_sum;
        sum.correct += result.correct;
        *samples += part.count;
    }
    return sum;
}

/* First steps of the run, in which the cost is measured; the very first only warms the caches. */
enum { COST_FIRST = 2, COST_STEPS = 8 };

enum { MOST_SHARDS = 64 };

static bool power_of_two(size_t n)
{
    return n && (n & (n - 1)) == 0;
}

/* A micro-shard is a part, and no part is larger than a minibatch. */
static enum hr_status check_accumulate(const struct hr_train_job *job)
{
    const size_t accumulate = job->options->accumulate, workers = job->shared->workers;
    size_t enough = job->micro_shards;
    char cure[40] = "";
    if (accumulate <= job->parts)
        return HR_OK;
    while (enough < accumulate * workers)
        enough *= 2;
    if (enough <= MOST_SHARDS)
        snprintf(cure, sizeof cure, ", or --reduce repro:%zu", enough);
    return hr_fail(HR_E_USAGE,
                   "--accumulate %zu: each of the %zu workers has %zu micro-shard%s, and none is "
                   "larger than a minibatch: expected at most %zu%s",
                   accumulate, workers, job->parts, job->parts == 1 ? "" : "s", job->parts, cure);
}

enum hr_status hr_micro_shards_prepare(struct hr_train_job *job)
{
    const struct hr_train_options *o = job->options;
    const size_t workers = job->shared->workers, shards = o->micro_shards;
    if (job->choices.reduce == HR_REDUCE_SUM)
        return HR_OK;
    if (!o->global_batch_size)
        return hr_fail(HR_E_USAGE, "--reduce repro: expected --global-batch-size N with it, the "
                                   "same for any number of workers");
    if (!power_of_two(shards) || shards > MOST_SHARDS)
        return hr_fail(HR_E_USAGE, "--reduce repro:%zu: expected a power of two up to %d", shards,
                       MOST_SHARDS);
    if (!power_of_two(workers) || workers > shards)
        return hr_fail(HR_E_USAGE,
                       "--reduce repro: %zu workers; expected a power of two, at most the %zu "
                       "micro-shards that a batch is cut into",
                       workers, shards);
    job->micro_shards = shards;
    job->parts = shards / workers;
    HR_TRY(check_accumulate(job));
    /* Shards that are a sample larger come first, so worker 0's are the largest share. */
    job->batch_size = hr_split_begin(job->global_batch, shards, shards / workers);
    return HR_OK;
}

/* The same samples at once, for the clock only; the slot's content is no longer needed. */
static void at_once(struct hr_train_worker *self, const struct hr_batch *batch)
{
    struct hr_batch whole = hr_part_of(self, batch, 0);
    const struct hr_batch last = hr_part_of(self, batch, self->parts - 1);
    whole.count = last.first + last.count - whole.first;
    hr_gradient_of(self, &whole, NULL, self->buffers->sums.sums[0]);
}

struct hr_batch_result hr_micro_shards_gradient(struct hr_train_worker *self, uint64_t index,
                                                size_t *samples)
{
    struct hr_worker *worker = &self->worker;
    const struct hr_batch batch = hr_batch_schedule_batch(&worker->shared->schedule, index);
    const uint64_t step = worker->index - 1 - worker->shared->schedule.first;
    const int64_t began = hr_clock_ns();
    const struct hr_batch_result result = hr_parts_gradient(self, index, samples);
    const bool measures = worker->rank == 0 && self->parts > 1 && step >= COST_FIRST &&
                          step < COST_FIRST + COST_STEPS && *samples <= self->job->batch_size;
    if (measures) {
        const int64_t middle = hr_clock_ns();
        at_once(self, &batch);
        worker->stats->repro_ns += middle - began;
        worker->stats->whole_ns += hr_clock_ns() - middle;
    }
    return result;
}

double hr_micro_shards_cost(const struct hr_train_job *job)
{
    const struct hr_worker_stats *stats = &job->shared->stats[0];
    if (!job->micro_shards || !stats->whole_ns)
        return 0;
    return (double)stats->repro_ns / (double)stats->whole_ns;
}
