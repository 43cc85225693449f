/* Parameter servers, the worker's half: what it sends, and takes. */
#include "server/server_worker.h"

#include "netsim/inject.h"
#include "server/server.h"
#include "server/staleness.h"
#include "strategy/compression.h"
#include "strategy/shared.h"

/* The k-th shard in this worker's order: workers begin at different ones. */
static size_t shard_at(const struct hr_worker *worker, size_t k)
{
    return (k + worker->rank) % worker->shared->servers;
}
/* How much of the gradient in hand has not gone ahead. */
static size_t params_left(const struct hr_worker *worker)
{
    return worker->shared->params - worker->requests.ahead;
}

/* Of the first `end` elements that the worker pushes, or exchanges. */
static uint64_t share_bytes(const struct hr_worker *worker, size_t shard, size_t end)
{
    const struct hr_range share = hr_server_share(worker->shared, shard, 0, end);
    return hr_push_slice_bytes(worker, share.begin, share.begin + share.count);
}

static uint64_t slice_bytes(const struct hr_worker *worker, size_t shard)
{
    return share_bytes(worker, shard, worker->shared->params);
}

/* Of the worker's push in hand, to all shards together: each carries its slice. */
static uint64_t requests_push_bytes(const struct hr_worker *worker)
{
    uint64_t bytes = 0;
    for (size_t s = 0; s < worker->shared->servers; s++)
        bytes += slice_bytes(worker, s);
    return bytes;
}

/* Without --compress, of what has not gone ahead. */
static uint64_t plain_bytes(const struct hr_worker *worker, size_t shard)
{
    return hr_server_share(worker->shared, shard, 0, params_left(worker)).count * sizeof(float);
}

static void send_to(const struct hr_worker *worker, size_t shard, const struct hr_message *request)
{
    const struct hr_shared_state *shared = worker->shared;
    const bool carries = hr_server_carries_slice(request->kind);
    if (request->kind == HR_PUSH && hr_server_packs(shared, worker->rank, shard))
        hr_server_pack(worker, shard);
    const struct hr_posted what = {
        .from = worker->rank,
        .to = shared->workers + shard,
        .bytes = sizeof *request + (carries ? share_bytes(worker, shard, params_left(worker)) : 0),
    };
    hr_server_send(shared, worker->rank, &what, request);
}

/* --- pushes that are lost --- */

static enum hr_inject_loss loss_of(const struct hr_worker *worker, size_t shard, unsigned attempt)
{
    const struct hr_shared_state *shared = worker->shared;
    const struct hr_inject_push push = {
        .rank = worker->rank,
        .server = shard,
        .step = worker->requests.push.word[HR_REQUEST_STEP],
        .attempt = attempt,
    };
    return hr_inject_drop(shared->drops, shared->options->seed, &push);
}

/* Was something lost in each attempt so far? */
static bool is_unanswered(const struct hr_worker *worker, size_t shard)
{
    for (unsigned attempt = 0; attempt < worker->requests.attempts; attempt++)
        if (loss_of(worker, shard, attempt) == HR_LOSS_NONE)
            return false;
    return true;
}

static void attempt(struct hr_worker *worker)
{
    struct hr_requests *requests = &worker->requests;
    bool unanswered = false;
    for (size_t k = 0; k < worker->shared->servers; k++) {
        const size_t s = shard_at(worker, k);
        if (!is_unanswered(worker, s))
            continue;
        const enum hr_inject_loss loss = loss_of(worker, s, requests->attempts);
        if (requests->attempts > 0) {
            worker->stats->resent++;
            worker->stats->bytes_sent += share_bytes(worker, s, params_left(worker));
            worker->stats->bytes_plain += plain_bytes(worker, s);
        }
        if (loss != HR_LOSS_MESSAGE)
            send_to(worker, s, &requests->push);
        unanswered |= loss != HR_LOSS_NONE;
    }
    requests->attempts = unanswered ? requests->attempts + 1 : 0;
}

bool hr_requests_are_taken(const struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    for (size_t s = 0; s < shared->servers; s++)
        if (is_unanswered(worker, s) &&
            !hr_ring_drained_spsc(hr_server_requests(shared, worker->rank, s)))
            return false;
    return true;
}

void hr_requests_repeat(struct hr_worker *worker)
{
    HR_ASSERT(hr_requests_unanswered(worker) && hr_requests_are_taken(worker));
    attempt(worker);
}

/* Send a request to every shard, with the next number. */
static void requests_send(struct hr_worker *worker, struct hr_message *request)
{
    const struct hr_shared_state *shared = worker->shared;
    HR_ASSERT(!hr_requests_unanswered(worker));
    request->sequence = ++worker->requests.sent;
    request->word[HR_REQUEST_LIFE] |= hr_roster_lost(shared->control, worker->rank);
    if (shared->drops && hr_server_carries_slice(request->kind)) {
        worker->requests.push = *request;
        attempt(worker);
        return;
    }
    for (size_t k = 0; k < shared->servers; k++)
        send_to(worker, shard_at(worker, k), request);
}

uint64_t hr_requests_came(const struct hr_shared_state *shared, size_t worker, size_t shard)
{
    const struct hr_message *last = hr_ring_newest_spsc(hr_server_requests(shared, worker, shard));
    const bool its = last && hr_request_lost(last) == hr_roster_lost(shared->control, worker);
    return its ? last->sequence : 0;
}

/* Room for one more, beside what a worker sends before it waits, and its DONE. */
static bool has_room(const struct hr_worker *worker, size_t shard)
{
    enum { OTHERS = 3 };
    struct hr_ring *ring = hr_server_requests(worker->shared, worker->rank, shard);
    const uint64_t then = hr_ring_committed_spsc(ring) + 1 + OTHERS;
    return hr_ring_released_spsc(ring, then - hr_server_slots(worker->shared));
}

/* Is it to a shard that does not find it in its memory? */
static bool travels(const struct hr_worker *worker, size_t shard, const struct hr_message *part)
{
    const struct hr_shared_state *shared = worker->shared;
    const size_t rank = hr_shard_rank(shared, shard);
    const struct hr_range share =
        hr_server_share(shared, shard, part->word[HR_PART_BEGIN], part->word[HR_PART_END]);
    return share.count && rank != worker->rank &&
           (shared->posted || !hr_hosts_same(&shared->hosts, worker->rank, rank));
}

static void send_part(const struct hr_worker *worker, size_t shard, const struct hr_message *part)
{
    const struct hr_shared_state *shared = worker->shared;
    const struct hr_range share =
        hr_server_share(shared, shard, part->word[HR_PART_BEGIN], part->word[HR_PART_END]);
    const struct hr_posted what = {.from = worker->rank,
                                   .to = shared->workers + shard,
                                   .bytes = sizeof *part + share.count * sizeof(float),
                                   .part = true};
    if (shared->posted)
        shared->posted(shared->posted_arg, &what);
    else
        hr_server_send(shared, worker->rank, &what, part);
}

void hr_push_parts_final(struct hr_worker *worker, size_t offset)
{
    const size_t end = params_left(worker), servers = worker->shared->servers;
    const struct hr_message part = {.kind = HR_PART,
                                    .from = (uint32_t)worker->rank,
                                    .word = {[HR_PART_BEGIN] = offset, [HR_PART_END] = end}};
    bool room = true;
    if (!hr_overlap_goes_ahead(worker->requests.least, offset, end))
        return;
    for (size_t s = 0; s < servers; s++)
        room &= !travels(worker, s, &part) || has_room(worker, s);
    for (size_t k = 0; room && k < servers; k++)
        if (travels(worker, shard_at(worker, k), &part))
            send_part(worker, shard_at(worker, k), &part);
    worker->requests.ahead += room ? end - offset : 0;
}

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
    requests_send(worker, &message);
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
    if (worker->back)
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
    worker->arrival.opened = 0;
    worker->requests.ahead = 0;
    for (size_t s = 0; s < shared->servers; s++) {
        struct hr_ring *ring = hr_server_replies(shared, worker->rank, s);
        const struct hr_message reply = *hr_ring_peek_spsc(ring);
        hr_ring_release_spsc(ring);
        hr_server_report_taken(shared, worker->rank, worker->rank, s, false);
        if (s == 0)
            first = reply;
        staleness[s] = reply.word[HR_REPLY_STALENESS];
        if (reply.word[HR_REPLY_SKEW] > stats->max_skew)
            stats->max_skew = reply.word[HR_REPLY_SKEW];
        if (is_gated(shared) &&
            hr_stragglers_later(shared, reply.word[HR_REPLY_OPENED], worker->arrival.opened))
            worker->arrival.opened = reply.word[HR_REPLY_OPENED];
    }
    if (first.kind == HR_WEIGHTS)
        stats->bytes_received += shared->params * sizeof(float);
    return first;
}

/* Of a push that is an update; else its shards find it. */
static float scale_of(const struct hr_worker *worker, size_t samples)
{
    const float *g = worker->grads;
    struct hr_step step = hr_step_of(&worker->shared->optimizer, 0, samples, 1);
    if (!worker->shared->strategy->synchronous)
        hr_step_clip(&step, &g, 1);
    return step.scale;
}

void hr_server_push_sum(struct hr_worker *worker, uint64_t index, size_t samples)
{
    struct hr_message push = request_of(worker, HR_PUSH);
    push.word[HR_REQUEST_INDEX] = index;
    push.word[HR_REQUEST_SAMPLES] = samples;
    push.word[HR_REQUEST_TOOK] = (uint64_t)worker->took_ns;
    push.word[HR_REQUEST_AHEAD] = worker->requests.ahead;
    hr_compression_push(worker, index);
    push.word[HR_REQUEST_LIFE] = hr_request_life(0, scale_of(worker, samples));
    worker->stats->bytes_sent += requests_push_bytes(worker);
    worker->stats->bytes_plain += worker->shared->params * sizeof(float);
    requests_send(worker, &push);
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
