/* Parameter servers: the tables of the strategies. */
#include <string.h>

#include "base/clock.h"
#include "base/size.h"
#include "base/vec.h"
#include "server/server.h"
#include "server/server_worker.h"
#include "server/staleness.h"
#include "shm/control.h"
#include "strategies/strategies.h"

/* --- servers on several machines: a machine's workers push as one (--aggregate node) ---
 *
 *   Words    node: a machine, and the workers on it, k of them, a power of two. Its leader: the
 *            first of them, the only one that pushes and pulls.
 *   Story    a step of a node, in seven parts:
 *              load        each worker reads its share of the batch, and
 *              compute     computes its gradient, in memory that all of the node see
 *              aggregate   when all k are there, each worker adds one stripe of all of them, in
 *                          T(k), into the leader's gradient: the machine's memory is read once
 *              push        the leader sends the sum to the servers: one push a node
 *              update      they add the nodes' sums, update, and send the weights to the leaders
 *              distribute  each worker copies the leader's weights into its own;
 *                          all of them have the new weights
 *            Where a gradient lies on a device beside the processor, it would move to this memory
 *            between compute and aggregate.
 *   Bits     T over nodes of T over a node's workers is T over all of them, since k is a power of
 *            two, and workers are dealt out in equal contiguous runs. So the weights are those of
 *            k pushes, or of one machine.
 *   Arrival  ps-async and ssp, when they are told to: the leader pulls weights and a batch for each
 *            of the node, and their sum, added in T(k), is one update of k batches, whenever it
 *            comes: a node is what a worker was, to gates and staleness. Where fewer than k batches
 *            are left before a cut, the others sit out: they come to the cut, and give for one
 *            request more, which is answered that none is left, without a gradient.
 *   Cost     P parameters: 4 P bytes each way between a node and all servers, for 4 k P without.
 *   Words in memory, a line a worker, each with one writer; n counts requests, which all workers of
 *            a node make together:
 *              given      the gradient that belongs to request n is in its memory, of `samples`
 *              summed     its stripe of all of them is in the leader's gradient
 *              published  the leader's alone: its weights are those of request n
 *   Safety   Stripe i is read of all, and written, by worker i alone. A worker overwrites its
 *            gradient when it has the weights of n, which the leader has when its push was taken,
 *            behind all stripes. The leader's weights are overwritten behind its push n, or (n
 *            begins a span) behind a cut: all have given n, or come to the cut, by then, and had
 *            copied those of n - 1 before. So `published` needs no answer.
 *   Rest     Cuts and ends are as ever: each worker tells the servers of them itself. In between
 *            the servers wait for no other worker than leaders (hr_server_pushes).
 *
 * Not for  a run on one machine: its memory is the servers', which add in place; nor one that is
 *          recorded, since a trace is replayed on one machine, or compressed, since a push leaves
 *          an error with its worker (train/prepare.c).
 * Threads: a worker's own, as strategy.h; shared memory as above.
 * Memory:  behind that of ps-sync.
 * Source:  as MXNet's store of kind dist_device_sync, which reduces over a machine's devices before
 *          it pushes.
 * Test:    tests/unit/strategies/test_aggregate.c, tests/unit/server/test_served_machines.c
 */

/* When a leader's push passed from one part of the step to the next. */
struct hr_aggregate_times {
    int64_t summed_ns, sent_ns, replied_ns;
};

/* A worker's own. */
struct hr_aggregating {
    size_t k, left;  /* whose gradients are in the next sum; in that which it leaves */
    uint64_t asked;  /* requests so far */
    uint64_t ticket; /* its messages to a server up to the push, or pull, in hand */
    int64_t offered_ns;
    int64_t load_ns, compute_ns; /* of its account, when it accepted last */
    struct hr_aggregate_times times;
};

/* --- memory: [ps-sync's | a line for each worker] --- */

struct line {
    alignas(HR_LINE) struct hr_atom64 given;
    uint64_t samples; /* published by given */
    struct hr_atom64 summed;
    alignas(HR_LINE) struct hr_atom64 published; /* of leaders */
    struct hr_aggregate_times times;             /* all published by it */
    struct hr_message reply;                     /* the first server's */
    uint64_t opened;                             /* the worker's, who opened a gate */
};

static size_t before_lines(const struct hr_shared_state *shared)
{
    return hr_round_up(hr_server_bytes(shared), HR_LINE);
}

static size_t aggregate_bytes(const struct hr_shared_state *shared)
{
    return before_lines(shared) + shared->workers * sizeof(struct line);
}

static struct line *line_of(const struct hr_shared_state *shared, size_t worker)
{
    return (struct line *)(void *)((unsigned char *)shared->own + before_lines(shared)) + worker;
}

/* --- a node: workers [first, first + node_workers) --- */

static size_t leader_of(const struct hr_worker *worker)
{
    return worker->rank - worker->rank % worker->shared->node_workers;
}

static bool leads(const struct hr_worker *worker)
{
    return hr_server_pushes(worker->shared, worker->rank);
}

static void wake(const struct hr_worker *worker, size_t rank)
{
    if (rank != worker->rank)
        hr_bell_ring(&worker->shared->control->rank[rank].bell);
}

static void wake_all(const struct hr_worker *worker)
{
    const size_t first = leader_of(worker);
    for (size_t w = first; w < first + worker->shared->node_workers; w++)
        wake(worker, w);
}

/* Has everybody of the node given, for this request? (hr_ready_fn) */
static bool all_have_given(void *arg)
{
    const struct hr_worker *worker = arg;
    const struct hr_aggregating *own = worker->own;
    const size_t first = leader_of(worker);
    for (size_t w = first; w < first + worker->shared->node_workers; w++) /* partner: give */
        if (hr_atom64_load_acquire(&line_of(worker->shared, w)->given) < own->asked)
            return false;
    return true;
}

/* Has everybody in the sum summed? (hr_ready_fn) */
static bool all_have_summed(void *arg)
{
    const struct hr_worker *worker = arg;
    const struct hr_aggregating *own = worker->own;
    const size_t first = leader_of(worker);
    for (size_t w = first; w < first + own->k; w++) /* partner: sum_stripe */
        if (hr_atom64_load_acquire(&line_of(worker->shared, w)->summed) < own->asked)
            return false;
    return true;
}

/* --- the parts of a step --- */

static void note_gradient(struct hr_worker *worker)
{
    const struct hr_aggregating *own = worker->own;
    struct hr_worker_stats *stats = worker->stats;
    stats->node_ns[HR_NODE_LOAD] += stats->account.spent_ns[HR_LOAD] - own->load_ns;
    stats->node_ns[HR_NODE_COMPUTE] += stats->account.spent_ns[HR_COMPUTE] - own->compute_ns;
}

static void note_part(struct hr_worker *worker, enum hr_node_part part, int64_t until_ns,
                      int64_t *at_ns)
{
    if (until_ns <= *at_ns)
        return;
    worker->stats->node_ns[part] += until_ns - *at_ns;
    *at_ns = until_ns;
}

/* Since it offered; by its leader's times. */
static void note_exchange(struct hr_worker *worker, const struct hr_aggregate_times *times)
{
    struct hr_aggregating *own = worker->own;
    const struct hr_account *account = &worker->stats->account;
    int64_t at_ns = own->offered_ns;
    note_part(worker, HR_NODE_AGGREGATE, times->summed_ns, &at_ns);
    note_part(worker, HR_NODE_PUSH, times->sent_ns, &at_ns);
    note_part(worker, HR_NODE_UPDATE, times->replied_ns, &at_ns);
    note_part(worker, HR_NODE_DISTRIBUTE, hr_clock_ns(), &at_ns);
    own->load_ns = account->spent_ns[HR_LOAD];
    own->compute_ns = account->spent_ns[HR_COMPUTE];
}

/* --- aggregate --- */

static void give(struct hr_worker *worker)
{
    struct hr_aggregating *own = worker->own;
    struct line *line = line_of(worker->shared, worker->rank);
    note_gradient(worker);
    own->offered_ns = hr_clock_ns();
    worker->stats->updates += /* one per step, or a push */
        worker->shared->strategy->synchronous ? worker->group_rank == 0 : leads(worker);
    line->samples = worker->samples;
    hr_atom64_store_release(&line->given, own->asked + 1); /* partner: all_have_given */
    wake_all(worker);
}

/* Its stripe of all gradients, into the leader's. */
static void sum_stripe(struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    const struct hr_aggregating *own = worker->own;
    const size_t k = own->k, first = leader_of(worker), i = worker->rank - first;
    const size_t begin = hr_stripe_begin(shared->params, k, i);
    const size_t count = hr_stripe_begin(shared->params, k, i + 1) - begin;
    const enum hr_activity was = hr_account_turn(&worker->stats->account, HR_COMMUNICATE);
    const float *grads[HR_HOSTS_RANKS];
    float *sum = shared->grads[first] + begin;
    for (size_t j = 0; j < k; j++)
        grads[j] = shared->grads[first + j] + begin;
    if (count && k > 1)
        hr_vec()->tree_sum(&sum, 1, grads, k, count);
    hr_account_turn(&worker->stats->account, was);
    /* Partner: all_have_summed, in the leader. */
    hr_atom64_store_release(&line_of(shared, worker->rank)->summed, own->asked);
    wake(worker, first);
}

/* --- push, and wait for the update --- */

/* The node's sum, its samples being those of all. */
static void push(struct hr_worker *worker)
{
    struct hr_aggregating *own = worker->own;
    const size_t first = worker->rank;
    size_t samples = 0;
    for (size_t w = first; w < first + own->k; w++)
        samples += (size_t)line_of(worker->shared, w)->samples;
    own->times.summed_ns = hr_clock_ns();
    hr_server_push_sum(worker, worker->index - worker->shared->strategy->synchronous, samples);
}

static void pull(struct hr_worker *worker)
{
    hr_server_ask(worker, HR_PULL, 0);
    ((struct hr_aggregating *)worker->own)->times.sent_ns = 0;
}

/* Has it left for servers elsewhere? Those here read it where it lies. */
static bool is_sent(const struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    const struct hr_aggregating *own = worker->own;
    for (size_t s = 0; s < shared->servers; s++)
        if (!hr_hosts_here(&shared->hosts, hr_shard_rank(shared, s)) &&
            !hr_ring_released_spsc(hr_server_requests(shared, worker->rank, s), own->ticket))
            return false;
    return true;
}

/* Are the weights of this request in the leader's memory? (hr_ready_fn) */
static bool has_weights(void *arg)
{
    struct hr_worker *worker = arg;
    struct hr_aggregating *own = worker->own;
    if (!leads(worker)) /* partner: hand_on */
        return hr_atom64_load_acquire(&line_of(worker->shared, leader_of(worker))->published) >=
               own->asked;
    if (!own->times.sent_ns && is_sent(worker))
        own->times.sent_ns = hr_clock_ns();
    return hr_server_ready(worker);
}

/* --- distribute --- */

static void hand_on(struct hr_worker *worker, bool pushed)
{
    struct hr_aggregating *own = worker->own;
    struct line *line = line_of(worker->shared, worker->rank);
    line->reply = hr_server_collect(worker);
    line->opened = worker->arrival.opened;
    if (pushed && !hr_strategy_never_stale(worker->shared->strategy))
        hr_staleness_count(worker->shared, worker->rank);
    own->times.replied_ns = hr_clock_ns();
    if (!own->times.sent_ns) /* it was gone before anybody looked */
        own->times.sent_ns = own->times.replied_ns;
    line->times = own->times;
    hr_atom64_store_release(&line->published, own->asked); /* partner: has_weights */
    wake_all(worker);
}

/* Wait for the weights, and take them. */
static enum hr_status take_weights(struct hr_rank *rank, bool pushed)
{
    struct hr_worker *worker = rank->worker;
    const struct hr_shared_state *shared = worker->shared;
    const size_t leader = leader_of(worker);
    HR_TRY(hr_rank_await(rank, NULL, has_weights, worker));
    if (leads(worker))
        hand_on(worker, pushed);
    else
        memcpy(worker->weights, shared->weights[leader], shared->params * sizeof *worker->weights);
    note_exchange(worker, &line_of(shared, leader)->times);
    return HR_OK;
}

/* Others push once more, and are told that no batch is left: it makes that request unasked. */
static void sit_out(struct hr_worker *worker)
{
    struct hr_aggregating *own = worker->own;
    own->asked++;
    hr_atom64_store_release(&line_of(worker->shared, worker->rank)->given, own->asked);
    wake_all(worker); /* partner: all_have_given */
}

/* The servers say how many batches the node has. */
static bool next_of_node(struct hr_worker *worker, uint64_t *index)
{
    struct hr_aggregating *own = worker->own;
    const struct line *line = line_of(worker->shared, leader_of(worker));
    const struct hr_message *reply = &line->reply;
    const size_t i = worker->rank - leader_of(worker);
    own->left = own->k;
    own->k = reply->kind == HR_NO_BATCH ? 0 : (size_t)reply->word[HR_REPLY_BATCHES];
    worker->arrival.opened = line->opened;
    *index = worker->index = reply->word[HR_REPLY_INDEX] + i;
    if (own->k && i >= own->k)
        sit_out(worker);
    return i < own->k;
}

static bool next_batch(struct hr_worker *worker, uint64_t *index)
{
    if (!worker->shared->strategy->synchronous)
        return next_of_node(worker, index);
    ((struct hr_aggregating *)worker->own)->k = worker->shared->node_workers;
    return hr_next_batch(worker, worker->index + 1, index);
}

/* --- from one cut to the next --- */

/* It has given nothing yet. */
static enum hr_status take_first_weights(struct hr_rank *rank)
{
    struct hr_worker *worker = rank->worker;
    struct hr_aggregating *own = worker->own;
    HR_TRY(hr_rank_ask(rank));
    own->asked++;
    own->offered_ns = own->times.summed_ns = hr_clock_ns();
    own->ticket = worker->requests.sent + 1;
    if (leads(worker))
        pull(worker);
    return take_weights(rank, false);
}

static enum hr_status exchange(struct hr_rank *rank)
{
    struct hr_worker *worker = rank->worker;
    struct hr_aggregating *own = worker->own;
    HR_TRY(hr_rank_ask(rank));
    own->asked++;
    HR_TRY(hr_rank_await(rank, NULL, all_have_given, worker));
    sum_stripe(worker);
    if (leads(worker)) {
        HR_TRY(hr_rank_await(rank, NULL, all_have_summed, worker));
        const enum hr_activity was = hr_account_turn(&worker->stats->account, HR_COMMUNICATE);
        push(worker);
        own->ticket = worker->requests.sent;
        pull(worker);
        hr_account_turn(&worker->stats->account, was);
    }
    return take_weights(rank, true);
}

static bool awaits(const struct hr_worker *worker, size_t peer)
{
    const struct hr_aggregating *own = worker->own;
    const size_t first = leader_of(worker);
    return worker->shared->strategy->synchronous || (peer >= first && peer < first + own->left);
}

static enum hr_status aggregate_span(struct hr_rank *rank)
{
    static const struct hr_gradient_hooks hooks = {.awaits = awaits};
    struct hr_worker *worker = rank->worker;
    uint64_t index;
    HR_TRY(take_first_weights(rank));
    while (next_batch(worker, &index)) {
        HR_TRY(hr_rank_gradient(rank, index, &hooks));
        give(worker);
        HR_TRY(exchange(rank));
    }
    return hr_server_cut(rank, worker->index);
}

/* --- the tables --- */

static const struct hr_gradient_hooks pushes = {.final = hr_push_parts_final};
static const struct hr_gradient_hooks pushes_to_gate = {.final = hr_push_parts_final,
                                                        .awaits = hr_awaits_all};

static bool next_by_reply(struct hr_worker *worker, const struct hr_message *reply, uint64_t *index)
{
    if (worker->shared->strategy->synchronous)
        return hr_next_batch(worker, worker->index + 1, index);
    *index = worker->index = reply->word[HR_REPLY_INDEX];
    return reply->kind != HR_NO_BATCH;
}

static enum hr_status span(struct hr_rank *rank)
{
    struct hr_worker *worker = rank->worker;
    const struct hr_strategy *strategy = worker->shared->strategy;
    const bool gated = worker->shared->staleness_bound < UINT64_MAX;
    struct hr_message reply;
    uint64_t index;
    HR_TRY(hr_server_pull(rank, &reply));
    while (next_by_reply(worker, &reply, &index)) {
        HR_TRY(hr_rank_gradient(rank, index, gated ? &pushes_to_gate : &pushes));
        worker->stats->updates += /* one per step, or one a push */
            !strategy->synchronous || worker->group_rank == 0;
        hr_server_push(worker, index);
        HR_TRY(hr_server_pull(rank, &reply));
        if (!hr_strategy_never_stale(strategy))
            hr_staleness_count(worker->shared, worker->rank);
    }
    return hr_server_cut(rank, worker->index);
}

#define SERVER_FUNCTIONS                                                                           \
    .start = hr_server_start, .leave = hr_server_leave, .enabled = hr_shard_enabled,               \
    .take = hr_shard_take
#define SERVER_MEMORY .bytes = hr_server_bytes, .init = hr_server_init, .pause = hr_server_pause

#define PS_SYNC                                                                                    \
    .name = "ps-sync", .rows = HR_SERVED_ROWS, .order = "T(n), leaves in rank order",              \
    .guarantee = "one copy of the weights, all gradients of a step in before it changes",          \
    .options = ps_sync_options, .synchronous = true, .shares_batch = true, .init = hr_server_init

#define SERVED_OPTIONS                                                                             \
    "servers", "placement", "server-placement", "aggregate", "server-time", "compress", "link",    \
        "topology"

static const char *const ps_sync_options[] = {SERVED_OPTIONS, NULL};

const struct hr_strategy hr_strategy_ps_sync = {
    PS_SYNC,
    .aggregated = &hr_strategy_ps_sync_aggregated,
    .bytes = hr_server_bytes,
    .span = span,
    SERVER_FUNCTIONS,
};

const struct hr_strategy hr_strategy_ps_sync_aggregated = {
    PS_SYNC,
    .bytes = aggregate_bytes,
    .worker_own = sizeof(struct hr_aggregating),
    .span = aggregate_span,
    SERVER_FUNCTIONS,
};

/* A machine's workers are as one. */
#define AGGREGATED                                                                                 \
    .bytes = aggregate_bytes, .init = hr_server_init, .pause = hr_server_pause,                    \
    .worker_own = sizeof(struct hr_aggregating), .span = aggregate_span

#define PS_ASYNC                                                                                   \
    .name = "ps-async", .rows = HR_SERVED_ROWS, .order = hr_order_of_arrival,                      \
    .guarantee = "each push applied once, whole, as it arrives; staleness unbounded, measured",    \
    .options = ps_async_options, .prepare = hr_stale_prepare, .describe = hr_stale_describe

#define ASYNC_OPTIONS SERVED_OPTIONS, "async-lr", "staleness-lr", "delay-compensation"

static const char *const ps_async_options[] = {ASYNC_OPTIONS, NULL};

static const struct hr_strategy ps_async_aggregated = {
    PS_ASYNC,
    SERVER_FUNCTIONS,
    AGGREGATED,
};

const struct hr_strategy hr_strategy_ps_async = {
    PS_ASYNC, .aggregated = &ps_async_aggregated, .span = span, SERVER_FUNCTIONS, SERVER_MEMORY,
};

static enum hr_status prepare_ssp(struct hr_shared_state *shared)
{
    shared->staleness_bound = shared->options->staleness;
    return hr_stale_prepare(shared);
}

#define SSP                                                                                        \
    .name = "ssp", .rows = HR_SERVED_ROWS, .order = hr_order_of_arrival,                           \
    .guarantee = "each push applied once, whole; fastest - slowest <= staleness",                  \
    .options = ssp_options, .in_step = &hr_strategy_ps_sync, .prepare = prepare_ssp,               \
    .describe = hr_stale_describe

static const char *const ssp_options[] = {"staleness", ASYNC_OPTIONS, NULL};

static const struct hr_strategy ssp_aggregated = {
    SSP,
    SERVER_FUNCTIONS,
    AGGREGATED,
};

const struct hr_strategy hr_strategy_ssp = {
    SSP, .aggregated = &ssp_aggregated, .span = span, SERVER_FUNCTIONS, SERVER_MEMORY,
};
