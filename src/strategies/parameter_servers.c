/* Parameter servers, the worker's half: push, pull, and the table of the three strategies. */
#include "server/server_losses.h"
#include "server/server_replica.h"
#include "server/server_requests.h"
#include "server/server_settle.h"
#include "strategy/compression.h"
#include "strategy/settle.h"
#include "server/staleness.h"
#include "strategies/strategies.h"

static struct hr_message request_of(const struct hr_worker *worker, enum hr_server_message kind)
{
    struct hr_message message = {.kind = kind, .from = (uint32_t)worker->rank};
    message.word[HR_REQUEST_STEP] = worker->steps;
    return message;
}

void hr_server_ask(struct hr_worker *worker, enum hr_server_message kind, int64_t took_ns)
{
    struct hr_message message = request_of(worker, kind);
    message.word[HR_REQUEST_TOOK] = (uint64_t)took_ns;
    hr_requests_send(worker, &message);
}

/* Replies to its earlier life are forgotten. */
static void join(struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    hr_server_count_last(shared, worker->rank);
    for (size_t s = 0; s < shared->servers; s++)
        hr_ring_drop_spsc(hr_server_replies(shared, worker->rank, s));
    hr_server_ask(worker, HR_JOIN, 0);
}

enum hr_status hr_server_start(struct hr_worker *worker)
{
    worker->requests = (struct hr_requests){0};
    worker->bell = &worker->shared->control->rank[worker->rank].bell;
    if (worker->back && worker->shared->strategy->lose)
        join(worker);
    return HR_OK;
}

void hr_server_request(struct hr_worker *worker)
{
    hr_server_ask(worker, HR_PULL, 0);
}

/* Has every shard replied? */
bool hr_server_ready(void *arg)
{
    struct hr_worker *worker = arg;
    const struct hr_shared_state *shared = worker->shared;
    for (size_t s = 0; s < shared->servers; s++)
        if (!hr_ring_peek_spsc(hr_server_replies(shared, worker->rank, s)))
            return false;
    return true;
}

static bool is_gated(const struct hr_shared_state *shared)
{
    return shared->staleness_bound < UINT64_MAX;
}

static bool meets(const struct hr_worker *worker)
{
    return is_gated(worker->shared);
}

struct hr_message hr_server_collect(struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    struct hr_worker_stats *stats = worker->stats;
    struct hr_message first = {0};
    uint64_t *staleness = hr_staleness_at_shards(shared, worker->rank); /* of the push before */
    worker->coming.opened = 0;
    for (size_t s = 0; s < shared->servers; s++) {
        struct hr_ring *ring = hr_server_replies(shared, worker->rank, s);
        const struct hr_message reply = *hr_ring_peek_spsc(ring);
        hr_ring_release_spsc(ring);
        hr_server_tell_taken(shared, worker->rank, worker->rank, s, false);
        if (s == 0)
            first = reply;
        staleness[s] = reply.word[HR_REPLY_STALENESS];
        if (reply.word[HR_REPLY_SKEW] > stats->max_skew)
            stats->max_skew = reply.word[HR_REPLY_SKEW];
        if (is_gated(shared) &&
            hr_arrivals_later(shared, reply.word[HR_REPLY_OPENED], worker->coming.opened))
            worker->coming.opened = reply.word[HR_REPLY_OPENED];
    }
    if (first.kind == HR_WEIGHTS)
        stats->bytes_received += shared->params * sizeof(float);
    return first;
}

static enum hr_status accept(struct hr_worker *worker, struct hr_task *task)
{
    const struct hr_message reply = hr_server_collect(worker);
    struct hr_pushing *own = worker->own;
    if (own->pushed && !worker->shared->strategy->never_stale)
        hr_staleness_count(worker->shared, worker->rank);
    own->pushed = false;
    if (worker->shared->strategy->synchronous) {
        hr_next_synchronous(worker, task);
        return hr_worker_is_at(worker, task->index);
    }
    worker->index = reply.word[HR_REPLY_INDEX];
    *task =
        (struct hr_task){reply.kind == HR_NO_BATCH ? HR_TASK_CUT : HR_TASK_BATCH, worker->index};
    return HR_OK;
}

void hr_server_push(struct hr_worker *worker, uint64_t index)
{
    struct hr_message push = request_of(worker, HR_PUSH);
    push.word[HR_REQUEST_INDEX] = index;
    push.word[HR_REQUEST_SAMPLES] = worker->samples;
    push.word[HR_REQUEST_TOOK] = (uint64_t)worker->took_ns;
    hr_compression_push(worker, index);
    worker->stats->bytes_sent += hr_requests_push_bytes(worker);
    worker->stats->bytes_plain += worker->shared->params * sizeof(float);
    worker->stats->bytes_replicated += hr_replicated_bytes(worker->shared);
    ((struct hr_pushing *)worker->own)->pushed = true;
    hr_requests_send(worker, &push);
}

static void offer(struct hr_worker *worker)
{
    const bool synchronous = worker->shared->strategy->synchronous;
    worker->stats->updates += !synchronous || worker->seat == 0; /* one a step, or one a push */
    hr_server_push(worker, synchronous ? worker->index - 1 : worker->index);
}

void hr_server_arrive(struct hr_worker *worker)
{
    hr_server_ask(worker, HR_CUT, 0);
}

/* The shards have exported; take their replies. */
void hr_server_at_cut(struct hr_worker *worker)
{
    hr_server_collect(worker);
}

/* In the middle of a push it leaves a run that has failed, and nobody waits for it. */
void hr_server_leave(struct hr_worker *worker)
{
    if (!hr_requests_unanswered(worker))
        hr_server_ask(worker, HR_DONE, 0);
}

#define SERVER_FUNCTIONS                                                                           \
    .served = true, .worker_own = sizeof(struct hr_pushing), .start = hr_server_start,             \
    .leave = hr_server_leave, .request = hr_server_request, .ready = hr_server_ready,              \
    .accept = accept, .meets = meets, .offer = offer, .arrive = hr_server_arrive,                  \
    .arrived = hr_server_ready, .at_cut = hr_server_at_cut, .export_part = hr_tell_nobody,         \
    .verify = hr_verify_nothing, .shard_start = hr_shard_start, .shard_stop = hr_shard_stop,       \
    .enabled = hr_shard_enabled, .take = hr_shard_take, .over = hr_shard_over
#define SERVER_LOSSES                                                                              \
    .bytes = hr_server_bytes, .init = hr_server_init, .lose = hr_shard_lose,                       \
    .restate = hr_shard_restate, .missing = hr_server_missing, .may_join = hr_server_may_join,     \
    .pause = hr_server_pause

/* What the shards hold, slice behind slice. */
static float *at_rest(const struct hr_shared_state *shared)
{
    return hr_server_weights(shared, 0);
}

const struct hr_strategy hr_strategy_ps_sync = {
    .name = "ps-sync",
    .at_rest = at_rest,
    .guarantee = "one copy of the weights, all gradients of a step in before it changes",
    .order = "T(n), leaves in rank order",
    .options = (const char *const[]){"servers", "server-replicas", "placement", "server-placement",
                                     "server-time", "compress", "link", "topology", NULL},
    .synchronous = true,
    .shares_batch = true,
    .recalls = true,
    .never_stale = true,
    .bytes = hr_server_settle_bytes,
    .init = hr_server_settle_init,
    .settle = hr_server_settle,
    .stored = true,
    SERVER_FUNCTIONS,
};

const struct hr_strategy hr_strategy_ps_async = {
    .name = "ps-async",
    .at_rest = at_rest,
    .guarantee = "each push applied once, whole, as it arrives; staleness unbounded, measured",
    .order = hr_order_of_arrival,
    .options = (const char *const[]){"servers", "server-replicas", "placement", "server-placement",
                                     "server-time", "async-lr", "staleness-lr",
                                     "delay-compensation", "compress", "link", "topology", NULL},
    .prepare = hr_stale_prepare,
    .describe = hr_stale_describe,
    .stored = true,
    SERVER_FUNCTIONS,
    SERVER_LOSSES,
};

static enum hr_status prepare_ssp(struct hr_shared_state *shared)
{
    shared->staleness_bound = shared->options->staleness;
    return hr_stale_prepare(shared);
}

const struct hr_strategy hr_strategy_ssp = {
    .name = "ssp",
    .at_rest = at_rest,
    .guarantee = "each push applied once, whole; fastest - slowest <= staleness",
    .order = hr_order_of_arrival,
    .options = (const char *const[]){"staleness", "servers", "server-replicas", "placement",
                                     "server-placement", "server-time", "async-lr", "staleness-lr",
                                     "delay-compensation", "compress", "link", "topology", NULL},
    .in_step = &hr_strategy_ps_sync,
    .prepare = prepare_ssp,
    .describe = hr_stale_describe,
    SERVER_FUNCTIONS,
    SERVER_LOSSES,
};
