/* Parameter servers, the worker's half: what it sends, and takes. */
#include "server/server_losses.h"
#include "server/server_requests.h"
#include "server/staleness.h"
#include "strategy/compression.h"
#include "strategy/overlap.h"

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
    HR_TRY(hr_overlap_least(worker->shared, &worker->requests.least));
    if (worker->back && hr_server_takes_losses(worker->shared))
        join(worker);
    return HR_OK;
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

struct hr_message hr_server_collect(struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    struct hr_worker_stats *stats = worker->stats;
    struct hr_message first = {0};
    uint64_t *staleness = hr_staleness_at_shards(shared, worker->rank); /* of the push before */
    worker->coming.opened = 0;
    worker->requests.ahead = 0;
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

void hr_server_push_sum(struct hr_worker *worker, uint64_t index, size_t samples)
{
    struct hr_message push = request_of(worker, HR_PUSH);
    push.word[HR_REQUEST_INDEX] = index;
    push.word[HR_REQUEST_SAMPLES] = samples;
    push.word[HR_REQUEST_TOOK] = (uint64_t)worker->took_ns;
    push.word[HR_REQUEST_AHEAD] = worker->requests.ahead;
    hr_compression_push(worker, index);
    worker->stats->bytes_sent += hr_requests_push_bytes(worker);
    worker->stats->bytes_plain += worker->shared->params * sizeof(float);
    hr_requests_send(worker, &push);
}

void hr_server_push(struct hr_worker *worker, uint64_t index)
{
    hr_server_push_sum(worker, index, worker->samples);
}

enum hr_status hr_server_exchange(struct hr_rank *rank, enum hr_server_message kind,
                                  int64_t took_ns, struct hr_message *reply)
{
    struct hr_worker *worker = rank->worker;
    HR_TRY(hr_rank_ask(rank));
    if (hr_server_carries_slice(kind))
        worker->stats->bytes_sent += worker->shared->params * sizeof(float);
    hr_server_ask(worker, kind, took_ns);
    HR_TRY(hr_rank_await(rank, NULL, hr_server_ready, worker));
    *reply = hr_server_collect(worker);
    return HR_OK;
}

enum hr_status hr_server_pull(struct hr_rank *rank, struct hr_message *reply)
{
    return hr_server_exchange(rank, HR_PULL, 0, reply);
}

enum hr_status hr_server_cut(struct hr_rank *rank, uint64_t index)
{
    HR_TRY(hr_rank_come_to_cut(rank, index));
    hr_server_ask(rank->worker, HR_CUT, 0);
    HR_TRY(hr_rank_await_cut(rank, hr_server_ready, rank->worker));
    hr_server_collect(rank->worker);
    return HR_OK;
}

/* In the middle of a push it leaves a run that has failed, and nobody waits for it. */
void hr_server_leave(struct hr_worker *worker)
{
    if (!hr_requests_unanswered(worker))
        hr_server_ask(worker, HR_DONE, 0);
}
