/* Parameter servers: the tables of the strategies. */
#include "server/push_parts.h"
#include "server/server.h"
#include "server/staleness.h"
#include "strategies/aggregate.h"
#include "strategies/strategies.h"

static const struct hr_gradient_hooks pushes = {.final = hr_push_parts_final};
static const struct hr_gradient_hooks pushes_to_gate = {.final = hr_push_parts_final,
                                                        .awaits = hr_awaits_all};

static bool next_batch(struct hr_worker *worker, const struct hr_message *reply, uint64_t *index)
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
    while (next_batch(worker, &reply, &index)) {
        HR_TRY(hr_rank_gradient(rank, index, gated ? &pushes_to_gate : &pushes));
        worker->stats->updates += /* one a step, or one a push */
            !strategy->synchronous || worker->seat == 0;
        hr_server_push(worker, index);
        HR_TRY(hr_server_pull(rank, &reply));
        if (!hr_strategy_never_stale(strategy))
            hr_staleness_count(worker->shared, worker->rank);
    }
    return hr_server_cut(rank, worker->index);
}

#define SERVER_FUNCTIONS                                                                           \
    .start = hr_server_start, .leave = hr_server_leave, .shard_start = hr_shard_start,             \
    .shard_stop = hr_shard_stop, .enabled = hr_shard_enabled, .take = hr_shard_take,               \
    .over = hr_shard_over
#define SERVER_LOSSES                                                                              \
    .losses_are_inputs = true, .bytes = hr_server_bytes, .init = hr_server_init,                   \
    .pause = hr_server_pause

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
    .bytes = hr_aggregate_bytes,
    .worker_own = sizeof(struct hr_aggregating),
    .span = hr_aggregate_span,
    SERVER_FUNCTIONS,
};

/* A machine's workers are as one. */
#define AGGREGATED                                                                                 \
    .losses_are_inputs = true, .bytes = hr_aggregate_bytes, .init = hr_server_init,                \
    .pause = hr_server_pause, .worker_own = sizeof(struct hr_aggregating),                         \
    .span = hr_aggregate_span

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
    PS_ASYNC, .aggregated = &ps_async_aggregated, .span = span, SERVER_FUNCTIONS, SERVER_LOSSES,
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
    SSP, .aggregated = &ssp_aggregated, .span = span, SERVER_FUNCTIONS, SERVER_LOSSES,
};
