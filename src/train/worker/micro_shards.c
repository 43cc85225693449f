#include "worker/micro_shards.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/size.h"
#include "worker/gradient.h"
#include "worker/parts.h"

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
        snprintf(cure, sizeof cure, ", or --micro-shards %zu", enough);
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
        return hr_fail(HR_E_USAGE, "--micro-shards %zu: expected a power of two up to %d", shards,
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
