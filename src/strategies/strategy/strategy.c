#include "strategy/strategy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "strategy/compression.h"
#include "strategy/ledger.h"
#include "strategy/peers.h"

void hr_strategy_init(struct hr_shared_state *shared)
{
    hr_rows_init(shared);
    if (shared->strategy->init)
        shared->strategy->init(shared);
    hr_peers_init(shared);
    hr_ledger_init(shared);
}

bool hr_strategy_obeys(const struct hr_strategy *strategy, const char *option)
{
    for (const char *const *name = strategy->options; *name; name++)
        if (!strcmp(*name, option))
            return true;
    return false;
}

enum hr_status hr_strategy_prepare(struct hr_shared_state *shared)
{
    hr_strategy_forget(shared);
    shared->graph_digest.hex[0] = '\0';
    shared->guarantee = shared->strategy->guarantee;
    shared->have_peers = false;
    shared->staleness_bound = shared->strategy->synchronous ? 0 : UINT64_MAX;
    return shared->strategy->prepare ? shared->strategy->prepare(shared) : HR_OK;
}

enum hr_status hr_strategy_same_graph(const struct hr_shared_state *shared, const char *graph,
                                      const char *digest)
{
    const char *now = shared->options->gossip_graph, *ours = shared->graph_digest.hex;
    if (!graph || !digest || !digest[0] || !ours[0] || strcmp(graph, now) != 0 ||
        !strcmp(digest, ours))
        return HR_OK;
    return hr_fail(
        HR_E_USAGE,
        "--gossip-graph %s: is not the graph it was trained with: the digest of its links "
        "was %s, now it is %s",
        now, hr_printable(digest).text, ours);
}

void hr_strategy_describe(const struct hr_shared_state *shared, char *text, size_t size)
{
    text[0] = '\0';
    if (shared->strategy->describe)
        shared->strategy->describe(shared, text, size);
}

void hr_strategy_forget(struct hr_shared_state *shared)
{
    free(shared->setup);
    shared->setup = NULL;
}

size_t hr_log_count(const struct hr_shared_state *shared)
{
    return hr_workers_log(shared->strategy) ? shared->workers : shared->servers;
}

static void release(struct hr_worker *worker)
{
    hr_rows_stop(worker);
    hr_compression_stop(worker);
    free(worker->own);
}

enum hr_status hr_worker_start(struct hr_worker *worker)
{
    const struct hr_strategy *strategy = worker->shared->strategy;
    worker->own = calloc(1, strategy->worker_own + 1);
    if (!worker->own)
        return hr_fail(HR_E_NOMEM, "no memory for a worker");
    enum hr_status status = hr_compression_start(worker);
    if (status == HR_OK)
        status = hr_rows_start(worker);
    if (status == HR_OK)
        status = strategy->start(worker);
    if (status != HR_OK)
        release(worker);
    return status;
}

void hr_worker_export(struct hr_worker *worker)
{
    if (worker->shared->strategy->catch_up)
        worker->shared->strategy->catch_up(worker);
    hr_rows_export(worker);
    hr_compression_export(worker);
}

void hr_worker_drop(struct hr_worker *worker)
{
    if (worker->shared->strategy->stop)
        worker->shared->strategy->stop(worker);
    release(worker);
}

void hr_worker_stop(struct hr_worker *worker)
{
    if (worker->shared->strategy->leave)
        worker->shared->strategy->leave(worker);
    hr_worker_drop(worker);
}

enum hr_status hr_worker_restart(struct hr_worker *worker)
{
    hr_worker_drop(worker);
    return hr_worker_start(worker);
}

void hr_worker_sit_out(struct hr_worker *worker)
{
    worker->requests = (struct hr_requests){0};
}
