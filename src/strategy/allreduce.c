/* Synchronous data parallelism by all-reduce.
 *
 *   Story    every worker has a replica of weights and momentum. A step: each computes the gradient
 *            of its share of the global batch; the gradients are summed over workers
 *            (--algorithm); each worker applies the same update to its own replica.
 *   Promise  all replicas are bit-equal after each step. It is checked at every cut.
 */
#include <string.h>

#include "base/clock.h"
#include "strategy/table.h"

static size_t no_bytes(const struct hr_world *world)
{
    (void)world;
    return 0;
}

static void no_init(struct hr_world *world)
{
    (void)world;
}

static enum hr_status start(struct hr_worker *worker)
{
    const struct hr_world *world = worker->world;
    memcpy(worker->weights, world->snapshot.weights, world->params * sizeof(float));
    worker->bell = &world->control->rank[worker->rank].bell;
    return hr_momentum_start(worker, 0);
}

/* offer has begun all there is to begin; what is left is to see it through. */
static bool ready(void *arg)
{
    struct hr_worker *worker = arg;
    return !worker->offered || hr_collective_test(&worker->member);
}

static void update(struct hr_worker *worker)
{
    const struct hr_world *world = worker->world;
    const uint64_t index = worker->index - 1; /* the batch whose gradients were summed */
    const struct hr_sgd sgd =
        hr_sgd_for(world, index, hr_course_batch(&world->course, index).count);
    const int64_t began = hr_clock_ns();
    hr_sgd_update(worker->weights, worker->momentum, worker->grads, world->params, &sgd);
    worker->update_ns += hr_clock_ns() - began;
    worker->stats->updates += worker->rank == 0; /* one a step, whoever applies it */
    hr_stats_staleness(worker->stats, 0);
}

static enum hr_status accept(struct hr_worker *worker, struct hr_task *task)
{
    if (worker->offered) {
        HR_TRY(hr_collective_finish(&worker->member));
        worker->offered = false;
        update(worker);
    }
    hr_next_synchronous(worker, task);
    return HR_OK;
}

static void offer(struct hr_worker *worker)
{
    hr_all_reduce_start(&worker->member, worker->grads, worker->world->params);
    worker->bell = hr_collective_bell(&worker->member);
    worker->offered = true;
}

static void export_part(struct hr_worker *worker)
{
    worker->stats->bytes_sent = worker->member.bytes_sent;
    worker->stats->bytes_received = worker->member.bytes_received;
    hr_export_stripe(worker, worker->weights, worker->momentum);
}

/* The snapshot is made of stripes of all replicas, so a replica that equals it equals them all. */
static enum hr_status verify(struct hr_worker *worker)
{
    const struct hr_world *world = worker->world;
    for (size_t i = 0; i < world->params; i++)
        if (memcmp(&worker->weights[i], &world->snapshot.weights[i], sizeof(float)) != 0)
            return hr_fail(HR_E_FAILED,
                           "replicas differ: parameter %zu is %.9g here and %.9g elsewhere", i,
                           (double)worker->weights[i], (double)world->snapshot.weights[i]);
    return HR_OK;
}

const struct hr_strategy hr_strategy_allreduce = {
    .name = "allreduce",
    .guarantee = "all replicas bit-equal after each step",
    .synchronous = true,
    .bytes = no_bytes,
    .init = no_init,
    .start = start,
    .stop = hr_momentum_stop,
    .request = hr_tell_nobody,
    .ready = ready,
    .accept = accept,
    .offer = offer,
    .arrive = hr_tell_nobody,
    .arrived = hr_always_ready,
    .export_part = export_part,
    .verify = verify,
};
