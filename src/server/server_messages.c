/* Parameter servers: the messages that travel in their memory. Both halves stand on it. */
#include <string.h>

#include "observe/spans.h"
#include "server/server.h"
#include "server/server_replica.h"
#include "shm/pair.h"
#include "trace/trace_log.h"

const char *hr_server_request_name(uint32_t kind)
{
    static const char *const names[] = {
        [HR_PULL - HR_PULL] = "pull",         [HR_PUSH - HR_PULL] = "push",
        [HR_PUSHPULL - HR_PULL] = "exchange", [HR_CUT - HR_PULL] = "cut",
        [HR_DONE - HR_PULL] = "done",         [HR_GONE - HR_PULL] = "gone",
        [HR_JOIN - HR_PULL] = "join",         [HR_AGAIN - HR_PULL] = "again",
        [HR_PART - HR_PULL] = "part",
    };
    const char *name = kind >= HR_PULL && kind <= HR_PART ? names[kind - HR_PULL] : NULL;
    return name ? name : "unknown";
}

uint64_t hr_replicated_bytes(const struct hr_shared_state *shared)
{
    uint64_t floats = 0;
    for (size_t s = 0; shared->copies > 1 && s < shared->servers; s++) {
        const size_t rank = hr_shard_rank(shared, s);
        if (hr_replica_lives(shared, rank) && !hr_roster_is_gone(shared->control, rank))
            floats += hr_server_slice(shared, s + 1) - hr_server_slice(shared, s);
    }
    return floats * sizeof(float);
}

size_t hr_shard_leader(const struct hr_shared_state *shared, size_t shard)
{
    const size_t first = hr_shard_rank(shared, shard);
    const bool gone = shared->copies > 1 && hr_roster_is_gone(shared->control, first);
    return gone ? first + shared->servers : first;
}

size_t hr_shard_speaker(const struct hr_shared_state *shared, size_t shard)
{
    const size_t leader = hr_shard_leader(shared, shard);
    const bool first = leader == hr_shard_rank(shared, shard);
    return first && hr_replica_lives(shared, leader) ? leader + shared->servers : leader;
}

size_t hr_party_rank(const struct hr_shared_state *shared, size_t party)
{
    return party < shared->workers ? party : hr_shard_leader(shared, party - shared->workers);
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
    const size_t peer = request ? worker : hr_shard_speaker(shared, shard);
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
    if (hr_party_rank(shared, what->to) != to) /* it may have died before it looked */
        hr_bell_ring(&shared->control->rank[hr_party_rank(shared, what->to)].bell);
}

static void send_reply(const struct hr_shard *shard, size_t worker)
{
    const struct hr_message *reply = &shard->worker[worker].reply;
    const struct hr_posted what = {
        .from = shard->shared->workers + shard->number,
        .to = worker,
        .bytes = sizeof *reply + (reply->kind == HR_WEIGHTS ? shard->count * sizeof(float) : 0),
    };
    hr_server_send(shard->shared, hr_shard_rank(shard->shared, shard->owner), &what, reply);
}

void hr_shard_reply(struct hr_shard *shard, size_t worker, struct hr_message message)
{
    struct hr_client *client = &shard->worker[worker];
    message.from = (uint32_t)hr_shard_rank(shard->shared, shard->owner);
    message.sequence = shard->version;
    message.word[HR_REPLY_STALENESS] = client->staleness;
    if (message.word[HR_REPLY_SKEW] > client->max_skew)
        client->max_skew = message.word[HR_REPLY_SKEW];
    client->reply = message;
    client->replies++;
    if (shard->speaks && !shard->owes)
        send_reply(shard, worker);
}

void hr_shard_copy_out(struct hr_shard *shard, size_t worker)
{
    if (shard->speaks && !shard->owes)
        memcpy(shard->shared->weights[worker] + shard->first, shard->weights,
               shard->count * sizeof(float));
}

void hr_shard_note(const struct hr_shard *shard)
{
    const struct hr_taken *taken = &shard->taken;
    if (!shard->shared->logs || taken->kind == HR_DUPLICATE || taken->kind == HR_PART)
        return;
    hr_trace_append(&shard->shared->logs[shard->number],
                    &(struct hr_trace_entry){.kind = taken->kind,
                                             .rank = taken->worker,
                                             .step = taken->step,
                                             .value = taken->value,
                                             .duration_ns = (uint64_t)taken->took_ns});
}

/* Others have changed the weights since it asked: that has to be known when they are given. */
static void note_again(struct hr_shard *shard, size_t worker)
{
    shard->taken = (struct hr_taken){
        .kind = HR_AGAIN, .worker = (uint32_t)worker, .step = shard->worker[worker].step};
    hr_shard_note(shard);
}

void hr_shard_reply_again(struct hr_shard *shard, size_t worker)
{
    struct hr_client *client = &shard->worker[worker];
    if (client->reply.kind == HR_WEIGHTS && client->given) {
        memcpy(shard->shared->weights[worker] + shard->first, shard->given + worker * shard->count,
               shard->count * sizeof(float));
    } else if (client->reply.kind == HR_WEIGHTS) {
        if (client->read != shard->version)
            note_again(shard, worker);
        hr_shard_copy_out(shard, worker);
        client->read = client->reply.sequence = shard->version;
    }
    send_reply(shard, worker);
}
