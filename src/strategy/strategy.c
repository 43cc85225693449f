#include "strategy/strategy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/table.h"

static const struct hr_strategy *const strategies[] = {
    &hr_strategy_allreduce, &hr_strategy_ps_sync, &hr_strategy_ps_async,
    &hr_strategy_ssp,       &hr_strategy_hogwild,
};

enum { NSTRATEGIES = sizeof strategies / sizeof *strategies };

const struct hr_strategy *hr_strategy_at(size_t i)
{
    return i < NSTRATEGIES ? strategies[i] : NULL;
}

enum hr_status hr_strategy_find(const char *name, uint64_t staleness,
                                const struct hr_strategy **out)
{
    char known[128] = "";
    for (size_t i = 0; i < NSTRATEGIES; i++) {
        if (!strcmp(name, strategies[i]->name)) {
            const bool lockstep = strategies[i] == &hr_strategy_ssp && staleness == 0;
            *out = lockstep ? &hr_strategy_ps_sync : strategies[i];
            return HR_OK;
        }
        const size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", strategies[i]->name);
    }
    return hr_fail(HR_E_USAGE, "--strategy %s: there is no such strategy (there are: %s)", name,
                   known);
}

void hr_next_synchronous(struct hr_worker *worker, struct hr_task *task)
{
    struct hr_dispenser *dispenser = worker->world->dispenser;
    const uint64_t stop_at = hr_atom64_load_acquire(&dispenser->stop_at); /* partner: below */
    if (worker->index >= worker->cut || worker->index >= stop_at) {
        *task = (struct hr_task){HR_TASK_CUT, worker->index};
        return;
    }
    /* Partner: the load above, in every worker, after the sum of this index: the sum needs what
     * this worker offers after this store, so whoever has the sum sees the store. */
    if (worker->rank == 0 && stop_at == UINT64_MAX && hr_atom32_load_acquire(&dispenser->stop))
        hr_atom64_store_release(&dispenser->stop_at, worker->index + 1);
    *task = (struct hr_task){HR_TASK_BATCH, worker->index++};
}

void hr_stats_staleness(struct hr_worker_stats *stats, uint64_t staleness)
{
    const uint64_t last = HR_STALENESS_BUCKETS - 1;
    stats->stale_updates++;
    stats->stale_sum += staleness;
    stats->stale[staleness < last ? staleness : last]++;
    if (staleness > stats->stale_max)
        stats->stale_max = staleness;
}

void hr_export_stripe(struct hr_worker *worker, const float *weights, const float *momentum)
{
    const struct hr_world *world = worker->world;
    const size_t begin = hr_stripe_begin(world->params, world->workers, worker->rank);
    const size_t bytes =
        (hr_stripe_begin(world->params, world->workers, worker->rank + 1) - begin) * sizeof(float);
    memcpy(world->snapshot.weights + begin, weights + begin, bytes);
    if (momentum)
        memcpy(world->snapshot.momentum + begin, momentum + begin, bytes);
}

enum hr_status hr_momentum_start(struct hr_worker *worker, size_t copy)
{
    const size_t params = worker->world->params;
    worker->momentum = malloc(params * sizeof *worker->momentum);
    if (!worker->momentum)
        return hr_fail(HR_E_NOMEM, "no memory for the momentum of %zu parameters", params);
    memcpy(worker->momentum, worker->world->snapshot.momentum + copy * params,
           params * sizeof(float));
    return HR_OK;
}

void hr_momentum_stop(struct hr_worker *worker)
{
    free(worker->momentum);
}

struct hr_sgd hr_sgd_for(const struct hr_world *world, uint64_t index, size_t samples)
{
    return (struct hr_sgd){
        .lr = hr_course_lr(&world->course, index),
        .momentum = world->options.momentum,
        .weight_decay = world->options.weight_decay,
        .inverse_count = hr_sgd_inverse_count(samples),
    };
}

void hr_tell_nobody(struct hr_worker *worker)
{
    (void)worker;
}

bool hr_always_ready(void *worker)
{
    (void)worker;
    return true;
}

enum hr_status hr_verify_nothing(struct hr_worker *worker)
{
    (void)worker;
    return HR_OK;
}
