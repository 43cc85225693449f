#include "worker/outcome.h"

#include <math.h>

#include "base/clock.h"
#include "base/size.h"
#include "base/vec.h"
#include "kernels/team.h"
#include "optim/rules.h"
#include "worker/worker.h"

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

void hr_hand_over(void *of, size_t offset)
{
    struct hr_train_worker *self = of;
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
        index, samples, self->worker.stats->too_late, loss_sum, reports->norm};
    reports->norm = NAN;
}

/* Of the update that was counted since it told last. */
static uint32_t staleness_of(struct hr_train_worker *self, const struct hr_counted_step *step)
{
    if (self->worker.stats->too_late > step->too_late) /* of no sample, perhaps */
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
