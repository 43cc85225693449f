#include "worker/tell.h"

#include <math.h>

#include "optim/rules.h"
#include "worker/worker.h"

void hr_tell_begin(struct hr_train_worker *self)
{
    const struct hr_stale *stale = &self->worker.stats->stale;
    self->telling.n = 0;
    self->telling.norm = NAN;
    self->telling.stale_updates = stale->updates;
    self->telling.stale_sum = stale->sum;
}

/* Pieces that are summed in place during backward are no gradient of its own any more. */
void hr_tell_norm(struct hr_train_worker *self, size_t samples)
{
    const struct hr_worker *worker = &self->worker;
    const struct hr_param_segment all = {.count = worker->shared->params};
    const bool summed =
        hr_train_job_overlaps(self->job) && !hr_strategy_is_served(worker->shared->strategy);
    if (!worker->shared->feed.steps || summed || !samples)
        return;
    self->telling.norm = (float)(sqrt(hr_norm_squares(worker->grads, &all)) / (double)samples);
}

void hr_tell_gradient(struct hr_train_worker *self, uint64_t index, size_t samples, double loss_sum)
{
    struct hr_telling *telling = &self->telling;
    if (!self->worker.shared->feed.steps)
        return;
    HR_ASSERT(telling->n < HR_TELLING_MOST);
    telling->step[telling->n++] =
        (struct hr_told_step){index, samples, self->worker.stats->samples, loss_sum, telling->norm};
    telling->norm = NAN;
}

/* Of the update that was counted since it told last. */
static uint32_t staleness_of(struct hr_train_worker *self, const struct hr_told_step *step)
{
    if (self->worker.stats->samples < step->counted)
        return HR_DROPPED;
    if (hr_strategy_never_stale(self->worker.shared->strategy))
        return 0;
    struct hr_telling *telling = &self->telling;
    const struct hr_stale *stale = &self->worker.stats->stale;
    const uint64_t updates = stale->updates - telling->stale_updates;
    const uint64_t sum = stale->sum - telling->stale_sum;
    telling->stale_updates = stale->updates;
    telling->stale_sum = stale->sum;
    return updates == 1 && sum < HR_DROPPED ? (uint32_t)sum : HR_NOT_STALE;
}

static void spend(struct hr_train_worker *self, struct hr_step_record *record)
{
    struct hr_worker_stats *stats = self->worker.stats;
    for (int a = 0; a < HR_ACTIVITIES; a++) {
        hr_record_spend(record, (enum hr_activity)a,
                        stats->account.spent_ns[a] - stats->told_ns[a]);
        stats->told_ns[a] = stats->account.spent_ns[a];
    }
}

static enum hr_status tell(struct hr_train_worker *self, int64_t trained_ns)
{
    struct hr_telling *telling = &self->telling;
    struct hr_worker *worker = &self->worker;
    const struct hr_shared_state *shared = worker->shared;
    const size_t n = telling->n;
    telling->n = 0;
    for (size_t i = 0; i < n; i++) {
        const struct hr_told_step *step = &telling->step[i];
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

enum hr_status hr_tell_steps(struct hr_train_worker *self, int64_t trained_ns)
{
    return self->telling.n ? tell(self, trained_ns) : HR_OK;
}
