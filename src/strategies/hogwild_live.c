#include "strategies/hogwild_live.h"

#include <string.h>

#include "base/size.h"
#include "strategies/pushes.h"

/* Weights that are loaded, updated and stored at a time: enough that loads do not stall on stores
 * that are not yet in the cache, and few enough that another's update rarely falls between load and
 * store. */
enum { BLOCK = 512 };

static size_t pairs_of(size_t params)
{
    return (params + 1) / 2;
}

static size_t weights_bytes(const struct hr_shared_state *shared)
{
    return hr_round_up(pairs_of(shared->params) * sizeof(struct hr_atom64), HR_LINE);
}

size_t hr_hogwild_bytes(const struct hr_shared_state *shared)
{
    return hr_pushes_bytes(shared) + weights_bytes(shared) + hr_ledger_bytes(shared);
}

static struct hr_atom64 *live_weights(const struct hr_shared_state *shared)
{
    return hr_pushes_end(shared);
}

struct hr_ledger *hr_hogwild_ledger(const struct hr_shared_state *shared)
{
    return (void *)((unsigned char *)hr_pushes_end(shared) + weights_bytes(shared));
}

/* floats[i] (count) = live weights [2 * first_pair, 2 * first_pair + count) */
static void load_floats(const struct hr_atom64 *live, size_t first_pair, float *floats,
                        size_t count)
{
    const struct hr_atom64 *from = live + first_pair;
    const size_t pairs = count / 2;
#pragma GCC unroll 8 /* lines come from far: the fewer instructions a line, the more on their way */
    for (size_t i = 0; i < pairs; i++) {
        const struct hr_float_pair pair = hr_hogwild_load_relaxed(&from[i]);
        memcpy(&floats[2 * i], &pair, sizeof pair);
    }
    if (count % 2)
        floats[count - 1] = hr_hogwild_load_relaxed(&from[pairs]).first;
}

static void store_floats(struct hr_atom64 *live, size_t first_pair, const float *floats,
                         size_t count)
{
    struct hr_atom64 *to = live + first_pair;
    const size_t pairs = count / 2;
#pragma GCC unroll 8
    for (size_t i = 0; i < pairs; i++) {
        struct hr_float_pair pair;
        memcpy(&pair, &floats[2 * i], sizeof pair);
        hr_hogwild_store_relaxed(&to[i], pair);
    }
    if (count % 2)
        hr_hogwild_store_relaxed(&to[pairs], (struct hr_float_pair){floats[count - 1], 0});
}

void hr_hogwild_load(const struct hr_shared_state *shared, float *weights)
{
    load_floats(live_weights(shared), 0, weights, shared->params);
}

void hr_hogwild_store(const struct hr_shared_state *shared, const float *weights)
{
    store_floats(live_weights(shared), 0, weights, shared->params);
}

void hr_hogwild_init(struct hr_shared_state *shared)
{
    if (!shared->snapshot.live)
        hr_hogwild_store(shared, shared->snapshot.weights);
    hr_ledger_init(hr_hogwild_ledger(shared), shared);
}

static struct hr_hogwild_own *own_of(const struct hr_worker *worker)
{
    return worker->own;
}

/* Count before loading: a push of others that ends after this may be missing in what is loaded. */
static void begin_pull(struct hr_worker *worker)
{
    own_of(worker)->seen = hr_pushes_of_others(worker);
}

void hr_hogwild_pull(struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    begin_pull(worker);
    hr_hogwild_load(shared, worker->weights);
}

enum hr_status hr_hogwild_start(struct hr_worker *worker)
{
    worker->bell = &worker->shared->control->rank[worker->rank].bell;
    if (worker->back)
        hr_pushes_come_back(worker);
    hr_hogwild_pull(worker);
    return hr_state_start(worker, worker->rank);
}

void hr_hogwild_count_batch(struct hr_worker *worker)
{
    const uint64_t skew = hr_pushes_skew(worker);
    if (skew > worker->stats->max_skew)
        worker->stats->max_skew = skew;
    worker->stats->bytes_received += worker->shared->params * sizeof(float);
}

/* A worker's gradient on its way into the weights. */
struct push {
    struct hr_push push;
    size_t line; /* the watched line begins at this weight */
};

/* Load some weights into the copy, update them there with the vector kernel, and store them. The
 * watched line is checked before it is overwritten. */
static void push_block(struct hr_worker *worker, const struct push *push, size_t at, size_t count)
{
    struct hr_atom64 *live = live_weights(worker->shared);
    float *w = worker->weights + at, pulled[BLOCK], loaded[HR_LOST_FLOATS];
    const bool watched = push->line >= at && push->line < at + count;
    const size_t before = watched ? push->line - at : count;
    const size_t length = hr_min_size(HR_LOST_FLOATS, count - before), behind = before + length;
    if (push->push.lambda > 0)
        memcpy(pulled, w, count * sizeof *w);
    load_floats(live, at / 2, w, count);
    memcpy(loaded, w + before, length * sizeof *w);
    hr_push_update(worker, &push->push, at, count, pulled, w);
    store_floats(live, at / 2, w, before);
    if (watched)
        hr_lost_store(&hr_pushes_counts(worker->shared, worker->rank)->lost, live + push->line / 2,
                      loaded, w + before, length);
    store_floats(live, (at + behind) / 2, w + behind, count - behind);
}

/* Update live weights [begin, end), begin even, a block at a time. */
static void push_range(struct hr_worker *worker, const struct push *push, size_t begin, size_t end)
{
    for (size_t at = begin; at < end; at += BLOCK)
        push_block(worker, push, at, hr_min_size(BLOCK, end - at));
}

static void push_all(struct hr_worker *worker, uint64_t staleness)
{
    const struct hr_shared_state *shared = worker->shared;
    const size_t own = hr_stripe_begin(shared->params, shared->workers, worker->rank);
    const struct push push = {
        .push = hr_push_begin(worker, staleness),
        .line = hr_lost_line(shared->params, worker->rank, worker->applied),
    };
    push_range(worker, &push, own, shared->params);
    push_range(worker, &push, 0, own);
}

void hr_hogwild_offer(struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    const uint64_t seen = own_of(worker)->seen;
    begin_pull(worker);
    const uint64_t staleness = own_of(worker)->seen - seen;
    hr_stale_count(&worker->stats->stale, staleness);
    if (shared->outlives)
        hr_ledger_begin_push(hr_hogwild_ledger(shared), worker->rank, worker->index);
    push_all(worker, staleness);
    if (shared->outlives)
        hr_ledger_end_push(hr_hogwild_ledger(shared), worker->rank, worker->index);
    hr_pushes_add(worker);
}

float *hr_hogwild_at_rest(const struct hr_shared_state *shared)
{
    return (float *)(void *)live_weights(shared);
}
