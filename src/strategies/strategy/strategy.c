#include "strategy/strategy.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "strategy/compression.h"
#include "strategy/peers.h"
#include "trace/trace.h"

const char *hr_noted_name(uint32_t kind)
{
    static const char *const names[] = {"batch", "skew", "pull", "staleness", "push", "cut"};
    return kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

void hr_note(struct hr_worker *worker, enum hr_noted kind, uint64_t value)
{
    if (!worker->replay.log)
        return;
    const struct hr_trace_entry entry = {
        .kind = kind,
        .rank = (uint32_t)worker->rank,
        .step = worker->steps,
        .value = value,
        .duration_ns = kind == HR_NOTED_STALENESS ? (uint64_t)worker->took_ns : 0,
    };
    hr_trace_append(worker->replay.log, &entry);
}

bool hr_follow(struct hr_worker *worker, enum hr_noted kind, uint64_t *value)
{
    struct hr_replay_log *replay = &worker->replay;
    const struct hr_trace_entry *entry = hr_trace_peek(replay->recorded);
    if (replay->misses)
        return false;
    if (!entry || entry->kind != kind || entry->step != worker->steps) {
        replay->misses = hr_noted_name(kind);
        return false;
    }
    *value = entry->value;
    hr_trace_next(replay->recorded);
    return true;
}

bool hr_follow_draw(struct hr_worker *worker, uint64_t cut, uint64_t *index)
{
    struct hr_replay_log *replay = &worker->replay;
    const struct hr_trace_entry *entry = hr_trace_peek(replay->recorded);
    const bool ends = entry && entry->kind == HR_NOTED_CUT;
    if (!hr_follow(worker, ends ? HR_NOTED_CUT : HR_NOTED_BATCH, index))
        return false;
    replay->beyond = replay->beyond || (!ends && *index >= cut);
    return !ends && *index < cut;
}

uint64_t hr_observe(struct hr_worker *worker, enum hr_noted kind, uint64_t seen)
{
    if (worker->replay.recorded)
        hr_follow(worker, kind, &seen);
    hr_note(worker, kind, seen);
    return seen;
}

enum hr_status hr_replay_log_fits(const struct hr_worker *worker)
{
    const struct hr_replay_log *replay = &worker->replay;
    if (!replay->misses)
        return HR_OK;
    const struct hr_trace_entry *entry = hr_trace_peek(replay->recorded);
    return hr_fail(HR_E_FORMAT,
                   "the trace does not fit the run that it describes: worker %zu at step %llu "
                   "wants %s, its log has %s %llu",
                   worker->rank, (unsigned long long)worker->steps, replay->misses,
                   entry ? hr_noted_name(entry->kind) : "nothing more",
                   (unsigned long long)(entry ? entry->value : 0));
}

void hr_strategy_init(struct hr_shared_state *shared)
{
    hr_rows_init(shared);
    if (shared->strategy->init)
        shared->strategy->init(shared);
    hr_peers_init(shared);
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
        "--strategy gossip:%s: is not the graph it was trained with: the digest of its links "
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

void hr_worker_sit_out(struct hr_worker *worker)
{
    worker->requests = (struct hr_requests){0};
}
