#include "worker/micro_shards.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/size.h"
#include "base/vec.h"
#include "worker/gradient.h"

/* Steps, from the run's first on, that tell the cost: not the first, in which memory is warmed. */
enum { COST_FIRST = 2, COST_STEPS = 8 };

static bool power_of_two(size_t n)
{
    return n && (n & (n - 1)) == 0;
}

static enum hr_status check_order(const struct hr_train_job *job)
{
    const struct hr_strategy *strategy = job->shared->strategy;
    const struct hr_algorithm *algorithm = job->shared->group_options.algorithm;
    if (strategy->synchronous && strategy->private_state)
        return hr_fail(HR_E_USAGE,
                       "--reduce repro: %s averages weights, of as many replicas as there are "
                       "workers; expected a strategy that adds up gradients: allreduce, ps-sync, "
                       "or ssp with --staleness 0",
                       job->options->strategy);
    if (!strategy->synchronous)
        return hr_fail(
            HR_E_USAGE,
            "--reduce repro: %s applies gradients as they come; expected a strategy that "
            "adds them up: allreduce, ps-sync, or ssp with --staleness 0",
            job->options->strategy);
    if (!strategy->served && !algorithm->tree_order)
        return hr_fail(HR_E_USAGE,
                       "--reduce repro: --algorithm %s adds in another order for each number of "
                       "workers; expected direct, tree, master-worker, halving-doubling or "
                       "hierarchical",
                       algorithm->name);
    return HR_OK;
}

enum hr_status hr_micro_shards_prepare(struct hr_train_job *job)
{
    const struct hr_train_options *o = job->options;
    const size_t workers = job->shared->workers, shards = o->micro_shards;
    if (!strcmp(o->reduce, "sum"))
        return HR_OK;
    if (strcmp(o->reduce, "repro") != 0)
        return hr_fail(HR_E_USAGE, "--reduce %s: expected sum or repro", o->reduce);
    HR_TRY(check_order(job));
    if (!o->global_batch_size)
        return hr_fail(HR_E_USAGE, "--reduce repro: expected --global-batch-size N with it, the "
                                   "same for any number of workers");
    if (!power_of_two(shards) || shards > HR_MICRO_SHARDS_MOST)
        return hr_fail(HR_E_USAGE, "--micro-shards %zu: expected a power of two up to %d", shards,
                       HR_MICRO_SHARDS_MOST);
    if (!power_of_two(workers) || workers > shards)
        return hr_fail(HR_E_USAGE,
                       "--reduce repro: %zu workers; expected a power of two, at most the %zu "
                       "micro-shards that a batch is cut into",
                       workers, shards);
    job->micro_shards = shards;
    /* Shards that are a sample larger come first, so worker 0's are the largest share. */
    job->batch_size = hr_split_begin(job->global_batch, shards, shards / workers);
    return HR_OK;
}

static struct hr_batch shard_of(const struct hr_train_worker *self, const struct hr_batch *batch,
                                size_t shard)
{
    const size_t shards = self->job->micro_shards;
    const uint64_t begin = hr_split_begin(batch->count, shards, shard);
    const uint64_t end = hr_split_begin(batch->count, shards, shard + 1);
    return (struct hr_batch){batch->epoch, batch->first + begin, end - begin};
}

/* Shard `i` of the worker's is in: where it completes a pair, the pair is added, left first, and so
 * on up the tree. A sum that has to wait for its right neighbour is kept in the level's slot. */
static void carry(struct hr_micro_sums *micro, size_t i, float *grads, size_t params)
{
    size_t level = 0;
    for (; i >> level & 1; level++)
        hr_vec()->add(grads, micro->sums[level], params); /* a + b is b + a, to the bit */
    if ((i + 1) < micro->shards)
        memcpy(micro->sums[level], grads, params * sizeof *grads);
}

static struct hr_batch_result by_shards(struct hr_train_worker *self, const struct hr_batch *batch,
                                        size_t *samples)
{
    struct hr_worker *worker = &self->worker;
    struct hr_batch_result sum = {0};
    *samples = 0;
    for (size_t i = 0; i < self->buffers->micro.shards; i++) {
        const struct hr_batch shard =
            shard_of(self, batch, worker->rank * self->buffers->micro.shards + i);
        const struct hr_batch_result result =
            hr_gradient_of(self, &shard, HR_NOT_AHEAD, worker->grads);
        carry(&self->buffers->micro, i, worker->grads, worker->shared->params);
        sum.loss_sum += result.loss_sum;
        sum.correct += result.correct;
        *samples += shard.count;
    }
    return sum;
}

/* The same samples at once, for the clock only; the slot's content is no longer needed. */
static void at_once(struct hr_train_worker *self, const struct hr_batch *batch)
{
    const size_t shards = self->buffers->micro.shards, first = self->worker.rank * shards;
    struct hr_batch whole = shard_of(self, batch, first);
    const struct hr_batch last = shard_of(self, batch, first + shards - 1);
    whole.count = last.first + last.count - whole.first;
    hr_gradient_of(self, &whole, HR_NOT_AHEAD, self->buffers->micro.sums[0]);
}

struct hr_batch_result hr_micro_shards_gradient(struct hr_train_worker *self,
                                                const struct hr_batch *batch, size_t *samples)
{
    struct hr_worker *worker = &self->worker;
    const uint64_t step = worker->index - 1 - worker->shared->course.first;
    const bool measures = worker->rank == 0 && self->buffers->micro.shards > 1 &&
                          step >= COST_FIRST && step < COST_FIRST + COST_STEPS;
    const int64_t began = hr_clock_ns();
    const struct hr_batch_result result = by_shards(self, batch, samples);
    if (measures) {
        const int64_t middle = hr_clock_ns();
        at_once(self, batch);
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
