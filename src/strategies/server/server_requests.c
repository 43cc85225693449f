#include "server/server_requests.h"

#include "netsim/inject.h"
#include "server/server_packets.h"
#include "strategy/push_slice.h"

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

uint64_t hr_requests_push_bytes(const struct hr_worker *worker)
{
    uint64_t bytes = 0;
    for (size_t s = 0; s < worker->shared->servers; s++)
        bytes += slice_bytes(worker, s);
    return bytes;
}

static uint64_t plain_bytes(const struct hr_shared_state *shared, size_t shard)
{
    return (hr_server_slice(shared, shard + 1) - hr_server_slice(shared, shard)) * sizeof(float);
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
        .bytes =
            sizeof *request + (carries ? share_bytes(worker, shard, hr_requests_left(worker)) : 0),
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
        const size_t s = hr_requests_shard_at(worker, k);
        if (!is_unanswered(worker, s))
            continue;
        const enum hr_inject_loss loss = loss_of(worker, s, requests->attempts);
        if (requests->attempts > 0) {
            worker->stats->resent++;
            worker->stats->bytes_sent += slice_bytes(worker, s);
            worker->stats->bytes_plain += plain_bytes(worker->shared, s);
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

void hr_requests_send(struct hr_worker *worker, struct hr_message *request)
{
    const struct hr_shared_state *shared = worker->shared;
    HR_ASSERT(!hr_requests_unanswered(worker));
    request->sequence = ++worker->requests.sent;
    request->word[HR_REQUEST_LIFE] = hr_roster_lost(shared->control, worker->rank);
    if (shared->drops && hr_server_carries_slice(request->kind)) {
        worker->requests.push = *request;
        attempt(worker);
        return;
    }
    for (size_t k = 0; k < shared->servers; k++)
        send_to(worker, hr_requests_shard_at(worker, k), request);
}

uint64_t hr_requests_came(const struct hr_shared_state *shared, size_t worker, size_t shard)
{
    const struct hr_message *last = hr_ring_newest_spsc(hr_server_requests(shared, worker, shard));
    const bool its = last && last->word[HR_REQUEST_LIFE] == hr_roster_lost(shared->control, worker);
    return its ? last->sequence : 0;
}
