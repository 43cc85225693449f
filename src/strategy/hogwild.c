/* Hogwild: no server; workers read and update the shared weights without locks.
 *
 *   Story    a worker copies the shared weights to memory of its own (pull), computes a gradient
 *            there, and applies its update to the shared weights (push). Reads and writes are
 *            relaxed atomic pairs of floats: no weight is ever torn, and BLAS never touches a live
 *            one. The optimiser's state is each worker's own; where an update needs norms
 *            (--clip-norm, lars, lamb), they are those of the worker's own gradient, its state, and
 *            the weights it pulled.
 *            The rate (--staleness-lr) and the gradient (--delay-compensation) may follow the
 *            staleness at the push's start; compensation knows each block's weights when it loads
 *            them, norms are those of the bare gradient.
 *   Promise  no torn values; an update that meets another's between its load and its store is lost
 *            (lost.h samples how many are).
 *   Order    each worker pushes from its own stripe on, so that two rarely meet on one line.
 *   Source   Niu, Recht, Re, Wright, "Hogwild!", NIPS 2011.
 */
#include <string.h>

#include "base/size.h"
#include "strategy/lost.h"
#include "strategy/pushes.h"
#include "strategy/table.h"

/* Weights that are loaded, updated and stored at a time: long enough that loads do not stall on
 * stores still on their way to the cache, and short enough that another's update rarely falls
 * between load and store. */
enum { BLOCK = 256 };

/* The strategy's memory: [pushes line of worker 0 | of worker 1 | ... | pairs of weights] */
static size_t pairs_of(size_t params)
{
    return (params + 1) / 2;
}

static size_t bytes(const struct hr_world *world)
{
    return world->workers * sizeof(struct hr_pushes) +
           pairs_of(world->params) * sizeof(struct hr_atom64);
}

static struct hr_pushes *pushes_of(const struct hr_world *world)
{
    return world->own;
}

static struct hr_atom64 *live_weights(const struct hr_world *world)
{
    return (struct hr_atom64 *)(void *)(pushes_of(world) + world->workers);
}

static struct hr_float_pair pair_at(const float *array, size_t pair, size_t params)
{
    return (struct hr_float_pair){array[2 * pair],
                                  2 * pair + 1 < params ? array[2 * pair + 1] : 0.0f};
}

static void init(struct hr_world *world)
{
    struct hr_atom64 *live = live_weights(world);
    for (size_t i = 0; i < pairs_of(world->params); i++)
        hr_hogwild_store_relaxed(&live[i], pair_at(world->snapshot.weights, i, world->params));
}

static enum hr_status start(struct hr_worker *worker)
{
    worker->bell = &worker->world->control->rank[worker->rank].bell;
    return hr_state_start(worker, worker->rank);
}

/* floats[i] (count) = live weights [2 * first_pair, 2 * first_pair + count) */
static void load_floats(const struct hr_atom64 *live, size_t first_pair, float *floats,
                        size_t count)
{
    const struct hr_atom64 *from = live + first_pair;
    for (size_t i = 0; i + 1 < count; i += 2) {
        const struct hr_float_pair pair = hr_hogwild_load_relaxed(&from[i / 2]);
        memcpy(&floats[i], &pair, sizeof pair);
    }
    if (count % 2)
        floats[count - 1] = hr_hogwild_load_relaxed(&from[count / 2]).first;
}

static void store_floats(struct hr_atom64 *live, size_t first_pair, const float *floats,
                         size_t count)
{
    for (size_t i = 0; i < count; i += 2)
        hr_hogwild_store_relaxed(&live[first_pair + i / 2], pair_at(floats, i / 2, count));
}

static void pull(struct hr_worker *worker)
{
    const struct hr_world *world = worker->world;
    load_floats(live_weights(world), 0, worker->weights, world->params);
    worker->stats->bytes_received += world->params * sizeof(float);
}

static enum hr_status accept(struct hr_worker *worker, struct hr_task *task)
{
    struct hr_dispenser *dispenser = worker->world->dispenser;
    const uint64_t cut = hr_atom64_load_acquire(&dispenser->cut); /* partner: the leader at a cut */
    worker->offered = false;
    if (hr_atom32_load_acquire(&dispenser->stop)) {
        *task = (struct hr_task){HR_TASK_CUT, cut};
        return HR_OK;
    }
    worker->index = hr_atom64_fetch_add_acq_rel(&dispenser->next, 1);
    *task = (struct hr_task){worker->index < cut ? HR_TASK_BATCH : HR_TASK_CUT, worker->index};
    if (task->kind == HR_TASK_BATCH) {
        const uint64_t skew = hr_pushes_skew(pushes_of(worker->world), worker);
        if (skew > worker->stats->max_skew)
            worker->stats->max_skew = skew;
        worker->pushes_seen = hr_pushes_of_others(pushes_of(worker->world), worker);
        pull(worker);
    }
    return HR_OK;
}

/* A worker's gradient on its way into the weights. */
struct push {
    struct hr_push push;
    size_t line; /* the watched line begins at this weight */
};

/* Some of the weights: load, update privately with the vector kernel, store. */
static void push_block(struct hr_worker *worker, const struct push *push, size_t at, size_t count)
{
    struct hr_atom64 *live = live_weights(worker->world);
    float block[BLOCK];
    load_floats(live, at / 2, block, count);
    hr_push_update(worker, &push->push, at, count, block);
    store_floats(live, at / 2, block, count);
}

/* The same, where one line of them is watched. */
static void push_watched(struct hr_worker *worker, const struct push *push, size_t at, size_t count)
{
    struct hr_atom64 *live = live_weights(worker->world);
    float block[BLOCK], loaded[HR_LOST_FLOATS];
    const size_t line = push->line, before = line - at;
    const size_t length = hr_min_size(HR_LOST_FLOATS, count - before);
    const size_t behind = before + length;
    load_floats(live, at / 2, block, count);
    memcpy(loaded, block + before, length * sizeof *loaded);
    hr_push_update(worker, &push->push, at, count, block);
    store_floats(live, at / 2, block, before);
    hr_lost_store(worker->stats, live + line / 2, loaded, block + before, length);
    store_floats(live, (at + behind) / 2, block + behind, count - behind);
}

/* Update live weights [begin, end), begin even, a block at a time. */
static void push_range(struct hr_worker *worker, const struct push *push, size_t begin, size_t end)
{
    for (size_t at = begin; at < end; at += BLOCK) {
        const size_t count = hr_min_size(BLOCK, end - at);
        if (push->line >= at && push->line < at + count)
            push_watched(worker, push, at, count);
        else
            push_block(worker, push, at, count);
    }
}

static void push_all(struct hr_worker *worker, uint64_t staleness)
{
    const struct hr_world *world = worker->world;
    const size_t own = hr_stripe_begin(world->params, world->workers, worker->rank);
    const struct push push = {
        .push = hr_push_begin(worker, staleness),
        .line = hr_lost_line(world->params, worker->rank, worker->applied),
    };
    push_range(worker, &push, own, world->params);
    push_range(worker, &push, 0, own);
}

static void offer(struct hr_worker *worker)
{
    const uint64_t staleness =
        hr_pushes_of_others(pushes_of(worker->world), worker) - worker->pushes_seen;
    hr_stats_staleness(worker->stats, staleness);
    push_all(worker, staleness);
    hr_pushes_add(pushes_of(worker->world), worker);
}

/* The barrier of the cut is all it takes to come to rest: whoever has arrived has pushed. */
static void arrive(struct hr_worker *worker)
{
    hr_atom64_store_relaxed(&pushes_of(worker->world)[worker->rank].clock, HR_AT_CUT);
}

static void export_part(struct hr_worker *worker)
{
    const struct hr_world *world = worker->world;
    hr_atom64_store_relaxed(&pushes_of(world)[worker->rank].clock, 0);
    const size_t params = world->params;
    pull(worker);
    worker->stats->bytes_received -=
        params * sizeof(float); /* a snapshot is no traffic of training */
    hr_export_stripe(worker);
    hr_export_own_state(worker);
}

const struct hr_strategy hr_strategy_hogwild = {
    .name = "hogwild",
    .guarantee = "no torn values; updates may be lost; staleness unbounded, measured",
    .private_state = true,
    .bytes = bytes,
    .init = init,
    .start = start,
    .stop = hr_state_stop,
    .request = hr_tell_nobody,
    .ready = hr_always_ready,
    .accept = accept,
    .offer = offer,
    .arrive = arrive,
    .arrived = hr_always_ready,
    .export_part = export_part,
    .verify = hr_verify_nothing,
};
