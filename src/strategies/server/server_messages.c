/* Parameter servers: the messages that travel in their memory. Both halves stand on it. */
#include <string.h>

#include "observe/spans.h"
#include "server/server.h"
#include "shm/pair.h"
#include "trace/trace_log.h"

const char *hr_server_request_name(uint32_t kind)
{
    static const char *const names[] = {
        [HR_PULL - HR_PULL] = "pull",         [HR_PUSH - HR_PULL] = "push",
        [HR_PUSHPULL - HR_PULL] = "exchange", [HR_CUT - HR_PULL] = "cut",
        [HR_DONE - HR_PULL] = "done",         [HR_GONE - HR_PULL] = "gone",
        [HR_JOIN - HR_PULL] = "join",         [HR_PART - HR_PULL] = "part",
    };
    const char *name = kind >= HR_PULL && kind <= HR_PART ? names[kind - HR_PULL] : NULL;
    return name ? name : "unknown";
}

size_t hr_party_rank(const struct hr_shared_state *shared, size_t party)
{
    return party < shared->workers ? party : hr_shard_rank(shared, party - shared->workers);
}

static struct hr_ring *ring_of(const struct hr_shared_state *shared, size_t worker, size_t shard,
                               bool request)
{
    return request ? hr_server_requests(shared, worker, shard)
                   : hr_server_replies(shared, worker, shard);
}

/* For who looks on: the n-th message in that ring, unlike all others of the run. */
static uint64_t number_of(const struct hr_shared_state *shared, size_t worker, size_t shard,
                          bool request, uint64_t n)
{
    return (uint64_t)((worker * shared->servers + shard) * 2 + request) << 40 | n;
}

void hr_server_tell_taken(const struct hr_shared_state *shared, size_t rank, size_t worker,
                          size_t shard, bool request)
{
    if (!shared->spans)
        return;
    const struct hr_ring *ring = ring_of(shared, worker, shard, request);
    const size_t peer = request ? worker : hr_shard_rank(shared, shard);
    hr_spans_message(shared->spans[rank], false, peer,
                     number_of(shared, worker, shard, request, hr_ring_taken_spsc(ring)));
}

void hr_server_send(const struct hr_shared_state *shared, size_t rank, const struct hr_posted *what,
                    const struct hr_message *message)
{
    const size_t to = hr_party_rank(shared, what->to);
    const bool request = what->from < shared->workers;
    const size_t worker = request ? what->from : what->to;
    const size_t shard = (request ? what->to : what->from) - shared->workers;
    struct hr_ring *ring = ring_of(shared, worker, shard, request);
    if (shared->posted)
        shared->posted(shared->posted_arg, what);
    if (shared->spans)
        hr_spans_message(
            shared->spans[rank], true, to,
            number_of(shared, worker, shard, request, hr_ring_committed_spsc(ring) + 1));
    /* A worker takes what it sends to a shard that rests here, but for the last. */
    const bool itself =
        shared->rests && request && message->kind != HR_DONE && hr_homes_here(&shared->homes, to);
    hr_pair_send(ring, itself ? NULL : &shared->control->rank[to].bell, message);
}

void hr_shard_reply(struct hr_shard *shard, size_t worker, struct hr_message message)
{
    struct hr_client *client = &shard->worker[worker];
    const size_t rank = hr_shard_rank(shard->shared, shard->number);
    const struct hr_posted what = {
        .from = shard->shared->workers + shard->number,
        .to = worker,
        .bytes = sizeof message + (message.kind == HR_WEIGHTS ? shard->count * sizeof(float) : 0),
    };
    message.from = (uint32_t)rank;
    message.sequence = shard->version;
    message.word[HR_REPLY_STALENESS] = client->staleness;
    if (message.word[HR_REPLY_SKEW] > client->max_skew)
        client->max_skew = message.word[HR_REPLY_SKEW];
    hr_server_send(shard->shared, rank, &what, &message);
}

void hr_shard_copy_out(struct hr_shard *shard, size_t worker)
{
    memcpy(shard->shared->weights[worker] + shard->first, shard->weights,
           shard->count * sizeof(float));
}

void hr_shard_take_and_note(struct hr_shard *shard, size_t worker)
{
    const struct hr_taken *taken = &shard->taken;
    shard->shared->strategy->take(shard, worker);
    if (!shard->shared->logs || taken->kind == HR_DUPLICATE || taken->kind == HR_PART)
        return;
    hr_trace_append(&shard->shared->logs[shard->number],
                    &(struct hr_trace_entry){.kind = taken->kind,
                                             .rank = taken->worker,
                                             .step = taken->step,
                                             .value = taken->value,
                                             .duration_ns = (uint64_t)taken->took_ns});
}
