/* Hogwild: no server; workers read and update the shared weights without locks.
 *
 *   Story    a worker computes a gradient from its private copy of the weights, and applies its
 *            update to the shared weights. It copies what it stores, for its next gradient: a push
 *            and the next pull are one pass, so a line that others wrote is fetched once a step.
 *            Only at the start and after a cut it pulls alone. Reads and writes are relaxed atomic
 *            pairs of floats: no weight is ever torn, and BLAS reads only the copy. Each worker has
 *            an optimiser state of its own; norms (--clip-norm, lars, lamb) are of its own
 *            gradient, state and copy.
 *            The rate (--staleness-lr) and the gradient (--delay-compensation) may follow the
 *            staleness at the push's start; compensation is with each block's weights as loaded,
 *            norms are those of the uncompensated gradient.
 *   Promise  no torn values; an update that meets another's between its load and its store is lost
 *            (lost.h samples how many are).
 *   Losses   a lost worker is missed by nobody: what it had in its hands comes out at the cut
 *            (ledger.h), a push that its death has torn is counted as partial. One that comes back
 *            begins with the weights as they are.
 *   Order    each worker starts a push at its own stripe, so that two rarely meet on one line.
 *   Source   Niu, Recht, Re, Wright, "Hogwild!", NIPS 2011.
 */
#include <string.h>

#include "base/size.h"
#include "strategies/ledger.h"
#include "strategies/pushes.h"
#include "strategies/strategies.h"

/* Weights that are loaded, updated and stored at a time: enough that loads do not stall on stores
 * that are not yet in the cache, and few enough that another's update rarely falls between load and
 * store. */
enum { BLOCK = 512 };

/* The strategy's memory: [pushes line of worker 0 | of 1 | ... | pairs of weights | ledger] */
static size_t pairs_of(size_t params)
{
    return (params + 1) / 2;
}

static size_t weights_bytes(const struct hr_shared_state *shared)
{
    return hr_round_up(pairs_of(shared->params) * sizeof(struct hr_atom64), HR_LINE);
}

static size_t bytes(const struct hr_shared_state *shared)
{
    return hr_pushes_bytes(shared) + weights_bytes(shared) + hr_ledger_bytes(shared);
}

static struct hr_atom64 *live_weights(const struct hr_shared_state *shared)
{
    return hr_pushes_end(shared);
}

static struct hr_ledger *ledger_of(const struct hr_shared_state *shared)
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

static void init(struct hr_shared_state *shared)
{
    if (!shared->snapshot.live)
        store_floats(live_weights(shared), 0, shared->snapshot.weights, shared->params);
    hr_ledger_init(ledger_of(shared), shared);
}

/* A worker's own. */
struct own {
    uint64_t seen; /* pushes of others when its copy was read */
};

static struct own *own_of(const struct hr_worker *worker)
{
    return worker->own;
}

/* Count before loading: a push of others that ends after this may be missing in what is loaded. */
static void begin_pull(struct hr_worker *worker)
{
    own_of(worker)->seen = hr_pushes_of_others(worker);
}

static void pull(struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    begin_pull(worker);
    load_floats(live_weights(shared), 0, worker->weights, shared->params);
}

static enum hr_status start(struct hr_worker *worker)
{
    worker->bell = &worker->shared->control->rank[worker->rank].bell;
    if (worker->back)
        hr_pushes_come_back(worker);
    pull(worker);
    return hr_state_start(worker, worker->rank);
}

/* The index of its next batch, or one that is not below the cut. Those of lost workers come first,
 * even where the run is asked to stop. */
static uint64_t draw(struct hr_worker *worker, uint64_t cut)
{
    const struct hr_shared_state *shared = worker->shared;
    struct hr_dispenser *dispenser = shared->dispenser;
    uint64_t index;
    if (hr_fates_take(shared->fates, &index))
        return index;
    if (hr_shared_rests(shared, hr_atom64_load_acquire(&dispenser->next)))
        return cut;
    return hr_atom64_fetch_add_acq_rel(&dispenser->next, 1);
}

static enum hr_status accept(struct hr_worker *worker, struct hr_task *task)
{
    const struct hr_shared_state *shared = worker->shared;
    const uint64_t cut = hr_atom64_load_acquire(&shared->dispenser->cut); /* partner: the leader */
    worker->index = draw(worker, cut);
    *task = (struct hr_task){worker->index < cut ? HR_TASK_BATCH : HR_TASK_CUT, worker->index};
    if (task->kind == HR_TASK_BATCH) {
        if (shared->outlives)
            hr_ledger_draw(ledger_of(shared), worker->rank, worker->index);
        const uint64_t skew = hr_pushes_skew(worker);
        if (skew > worker->stats->max_skew)
            worker->stats->max_skew = skew;
        worker->stats->bytes_received += shared->params * sizeof(float);
    }
    return HR_OK;
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

static void offer(struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    const uint64_t seen = own_of(worker)->seen;
    begin_pull(worker);
    const uint64_t staleness = own_of(worker)->seen - seen;
    hr_stale_count(&worker->stats->stale, staleness);
    if (shared->outlives)
        hr_ledger_begin_push(ledger_of(shared), worker->rank, worker->index);
    push_all(worker, staleness);
    if (shared->outlives)
        hr_ledger_end_push(ledger_of(shared), worker->rank, worker->index);
    hr_pushes_add(worker);
}

/* Nothing to wait for but the cut's barrier: a worker that has arrived has pushed. */
static void export_part(struct hr_worker *worker)
{
    hr_pushes_go_on(worker);
    pull(worker); /* all rest: no push is missed */
    hr_export_stripe(worker);
    hr_export_own_state(worker);
}

/* Floats again for as long as all rest: a barrier stands on either side. */
static float *at_rest(const struct hr_shared_state *shared)
{
    return (float *)(void *)live_weights(shared);
}

static void lost(struct hr_shared_state *shared, size_t worker)
{
    hr_ledger_lose(ledger_of(shared), shared, worker);
    hr_pushes_lose(shared, worker);
}

static void missing(struct hr_shared_state *shared)
{
    hr_ledger_missing(ledger_of(shared), shared);
}

/* A push is one act of its worker: none is under way. */
static bool pause(const struct hr_standing *at, struct hr_pause *to)
{
    const struct hr_shared_state *shared = at->shared;
    load_floats(live_weights(shared), 0, to->snapshot.weights, shared->params);
    for (size_t w = 0; w < shared->workers; w++) {
        hr_pause_copy_state(at, w, to);
        if (at->stands[w] == HR_STANDS_HAS)
            hr_pause_in_hand(at, w, at->worker[w]->index, to);
    }
    hr_ledger_pause(ledger_of(shared), at, to);
    return true;
}

const struct hr_strategy hr_strategy_hogwild = {
    .name = "hogwild",
    .guarantee = "no torn values; updates may be lost; staleness unbounded, measured",
    .options = (const char *const[]){"async-lr", "staleness-lr", "delay-compensation",
                                     "record-block", NULL},
    .order = hr_order_of_arrival,
    .recorded = &hr_strategy_hogwild_recorded,
    .private_state = true,
    .sparse = true,
    .prepare = hr_hogwild_prepare,
    .describe = hr_stale_describe,
    .bytes = bytes,
    .init = init,
    .report = hr_pushes_report,
    .worker_own = sizeof(struct own),
    .worker_bytes = hr_state_bytes,
    .start = start,
    .stop = hr_state_stop,
    .request = hr_tell_nobody,
    .ready = hr_always_ready,
    .accept = accept,
    .offer = offer,
    .arrive = hr_pushes_arrive,
    .arrived = hr_always_ready,
    .export_part = export_part,
    .at_rest = at_rest,
    .verify = hr_verify_nothing,
    .lost = lost,
    .missing = missing,
    .pause = pause,
};
