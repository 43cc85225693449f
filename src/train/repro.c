/* --reduce repro: the bits of training do not depend on the number of workers.
 *
 *   Story    a global batch is cut into M micro-shards (a power of two, 8 unless told otherwise).
 *            A shard's gradient is computed by itself, so that kernels always see the same shapes,
 *            and the M gradients are added in T(M) (base/vec.h). A worker has M / W neighbouring
 *            shards, W being a power of two: they are a whole subtree of T(M), which it adds up
 *            alone; the subtrees' sums are then added in T(W) by any strategy that does so. Whoever
 *            adds it, it is the same tree.
 *   Promise  with the same global batch and M, the same weights for W = 1, 2, 4, ... M.
 *   Cost     products of smaller matrices, and M / W - 1 additions of a gradient. It is measured on
 *            the first steps: worker 0 also computes its whole share at once.
 *   Source   the idea of virtual workers: EasyScale (Li et al., SC 2023).
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/size.h"
#include "base/vec.h"
#include "train/run.h"

/* Steps, from the run's first on, that tell the cost: not the first, in which memory is warmed. */
enum { COST_FIRST = 2, COST_STEPS = 8 };

static bool power_of_two(size_t n)
{
    return n && (n & (n - 1)) == 0;
}

static enum hr_status check_order(const struct hr_run *run)
{
    const struct hr_strategy *strategy = run->shared.strategy;
    const struct hr_algorithm *algorithm = run->shared.group_options.algorithm;
    if (strategy->synchronous && strategy->private_state)
        return hr_fail(HR_E_USAGE,
                       "--reduce repro: %s averages weights, of as many replicas as there are "
                       "workers; expected a strategy that adds up gradients: allreduce, ps-sync, "
                       "or ssp with --staleness 0",
                       run->options->strategy);
    if (!strategy->synchronous)
        return hr_fail(
            HR_E_USAGE,
            "--reduce repro: %s applies gradients as they come; expected a strategy that "
            "adds them up: allreduce, ps-sync, or ssp with --staleness 0",
            run->options->strategy);
    if (!strategy->served && !algorithm->tree_order)
        return hr_fail(HR_E_USAGE,
                       "--reduce repro: --algorithm %s adds in another order for each number of "
                       "workers; expected direct, tree, master-worker, halving-doubling or "
                       "hierarchical",
                       algorithm->name);
    return HR_OK;
}

enum hr_status hr_repro_prepare(struct hr_run *run)
{
    const struct hr_train_options *o = run->options;
    const size_t workers = run->shared.workers, shards = o->micro_shards;
    if (!strcmp(o->reduce, "sum"))
        return HR_OK;
    if (strcmp(o->reduce, "repro") != 0)
        return hr_fail(HR_E_USAGE, "--reduce %s: expected sum or repro", o->reduce);
    HR_TRY(check_order(run));
    if (!o->global_batch_size)
        return hr_fail(HR_E_USAGE, "--reduce repro: expected --global-batch-size N with it, the "
                                   "same for any number of workers");
    if (!power_of_two(shards) || shards > HR_REPRO_MAX_SHARDS)
        return hr_fail(HR_E_USAGE, "--micro-shards %zu: expected a power of two up to %d", shards,
                       HR_REPRO_MAX_SHARDS);
    if (!power_of_two(workers) || workers > shards)
        return hr_fail(HR_E_USAGE,
                       "--reduce repro: %zu workers; expected a power of two, at most the %zu "
                       "micro-shards that a batch is cut into",
                       workers, shards);
    run->micro_shards = shards;
    /* Shards that are a sample larger come first, so worker 0's are the largest share. */
    run->batch_size = hr_split_begin(run->global_batch, shards, shards / workers);
    return HR_OK;
}

static struct hr_batch shard_of(const struct hr_trainee *trainee, const struct hr_batch *batch,
                                size_t shard)
{
    const size_t shards = trainee->run->micro_shards;
    const uint64_t begin = hr_split_begin(batch->count, shards, shard);
    const uint64_t end = hr_split_begin(batch->count, shards, shard + 1);
    return (struct hr_batch){batch->epoch, batch->first + begin, end - begin};
}

/* Shard `i` of the worker's is in: where it completes a pair, the pair is added, left first, and so
 * on up the tree. A sum that has to wait for its right neighbour is kept in the level's slot. */
static void carry(struct hr_repro *repro, size_t i, float *grads, size_t params)
{
    size_t level = 0;
    for (; i >> level & 1; level++)
        hr_vec()->add(grads, repro->sums[level], params); /* a + b is b + a, to the bit */
    if ((i + 1) < repro->shards)
        memcpy(repro->sums[level], grads, params * sizeof *grads);
}

static struct hr_batch_result by_shards(struct hr_trainee *trainee, const struct hr_batch *batch,
                                        size_t *samples)
{
    struct hr_worker *worker = &trainee->worker;
    struct hr_batch_result sum = {0};
    *samples = 0;
    for (size_t i = 0; i < trainee->device->repro.shards; i++) {
        const struct hr_batch shard =
            shard_of(trainee, batch, worker->rank * trainee->device->repro.shards + i);
        const struct hr_batch_result result =
            hr_trainee_differentiate(trainee, &shard, worker->grads);
        carry(&trainee->device->repro, i, worker->grads, worker->shared->params);
        sum.loss_sum += result.loss_sum;
        sum.correct += result.correct;
        *samples += shard.count;
    }
    return sum;
}

/* The same samples at once, for the clock only; the slot's content is no longer needed. */
static void at_once(struct hr_trainee *trainee, const struct hr_batch *batch)
{
    const size_t shards = trainee->device->repro.shards, first = trainee->worker.rank * shards;
    struct hr_batch whole = shard_of(trainee, batch, first);
    const struct hr_batch last = shard_of(trainee, batch, first + shards - 1);
    whole.count = last.first + last.count - whole.first;
    hr_trainee_differentiate(trainee, &whole, trainee->device->repro.sums[0]);
}

struct hr_batch_result hr_repro_gradient(struct hr_trainee *trainee, const struct hr_batch *batch,
                                         size_t *samples)
{
    struct hr_worker *worker = &trainee->worker;
    const uint64_t step = worker->index - 1 - worker->shared->course.first;
    const bool measures = worker->rank == 0 && trainee->device->repro.shards > 1 &&
                          step >= COST_FIRST && step < COST_FIRST + COST_STEPS;
    const int64_t began = hr_clock_ns();
    const struct hr_batch_result result = by_shards(trainee, batch, samples);
    if (measures) {
        const int64_t middle = hr_clock_ns();
        at_once(trainee, batch);
        worker->stats->repro_ns += middle - began;
        worker->stats->whole_ns += hr_clock_ns() - middle;
    }
    return result;
}

double hr_repro_cost(const struct hr_run *run)
{
    const struct hr_worker_stats *stats = &run->shared.stats[0];
    if (!run->micro_shards || !stats->whole_ns)
        return 0;
    return (double)stats->repro_ns / (double)stats->whole_ns;
}
