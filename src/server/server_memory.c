/* Parameter servers: their memory, and the messages that travel in it. Both halves stand on it. */
#include "server/server.h"

#include "observe/spans.h"
#include "base/size.h"
#include "shm/pair.h"
#include "strategy/push_slice.h"
#include "server/server_losses.h"
#include "server/server_replica.h"
#include "trace/trace_log.h"

/* --- memory: [rings | copies: weights, scratch, ratio, state | losses | logs | packets] --- */

static size_t rings_bytes(const struct hr_shared_state *shared)
{
    return shared->workers * shared->servers * hr_pair_bytes(HR_SERVER_SLOTS);
}

static size_t array_bytes(size_t floats)
{
    return hr_round_up(floats * sizeof(float), HR_LINE);
}

/* Of the state that shards hold: none where each worker has its own. */
static size_t served_state_floats(const struct hr_shared_state *shared)
{
    return shared->strategy->private_state ? 0 : hr_state_floats(shared);
}

size_t hr_server_losses_bytes(const struct hr_shared_state *shared)
{
    const bool inputs = shared->outlives && shared->strategy->lose;
    return inputs ? shared->workers * (sizeof(struct hr_server_loss) +
                                       shared->servers * sizeof(struct hr_loss_at_shard))
                  : 0;
}

/* Room for sums of gradients, or one that is compensated (ps-async, ssp); not where a shard makes
 * its update from a push where that lies. */
static size_t scratch_floats(const struct hr_shared_state *shared)
{
    const bool in_place =
        !shared->strategy->shares_batch && shared->options->delay_compensation == 0;
    return in_place ? 0 : shared->params;
}

static size_t copy_bytes(const struct hr_shared_state *shared)
{
    return array_bytes(shared->params) + array_bytes(scratch_floats(shared)) +
           array_bytes(hr_ratio_floats(shared)) + array_bytes(served_state_floats(shared));
}

/* --- logs: for each shard [a line | ring | notes] --- */

/* A PUSH and what its worker waits for, its loss, and, when that has been said, its return. */
enum { ENTRIES_A_WORKER = 4 };

static size_t log_slots(const struct hr_shared_state *shared)
{
    size_t slots = 1;
    while (slots < ENTRIES_A_WORKER * shared->workers)
        slots *= 2;
    return slots;
}

static size_t log_bytes(const struct hr_shared_state *shared)
{
    const size_t slots = log_slots(shared);
    return HR_LINE + hr_ring_bytes(slots) +
           hr_round_up(slots * sizeof(struct hr_log_note), HR_LINE);
}

static size_t logs_bytes(const struct hr_shared_state *shared)
{
    return shared->copies > 1 ? shared->servers * log_bytes(shared) : 0;
}

struct hr_server_log hr_server_log(const struct hr_shared_state *shared, size_t shard)
{
    unsigned char *line = (unsigned char *)hr_server_losses(shared) +
                          hr_server_losses_bytes(shared) + shard * log_bytes(shared);
    unsigned char *ring = line + HR_LINE, *notes = ring + hr_ring_bytes(log_slots(shared));
    return (struct hr_server_log){(void *)line, (void *)ring, (void *)notes};
}

/* --- packets: [of worker 0 to shard 0, 1, ... | of worker 1 ...], of compressed pushes --- */

static size_t packet_bytes(const struct hr_shared_state *shared, size_t shard)
{
    const size_t most = hr_push_slice_most(shared, hr_server_slice(shared, shard),
                                           hr_server_slice(shared, shard + 1));
    return hr_round_up(sizeof(struct hr_server_packet) + most, HR_LINE);
}

/* A worker's, to the first n shards. */
static size_t packets_to(const struct hr_shared_state *shared, size_t n)
{
    size_t bytes = 0;
    for (size_t s = 0; s < n; s++)
        bytes += packet_bytes(shared, s);
    return bytes;
}

static size_t packets_bytes(const struct hr_shared_state *shared)
{
    const bool any = hr_shared_is_apart(shared) && hr_compression_of(shared);
    return any ? shared->workers * packets_to(shared, shared->servers) : 0;
}

/* --- all of it --- */

size_t hr_server_bytes(const struct hr_shared_state *shared)
{
    const size_t bytes = rings_bytes(shared) + shared->copies * copy_bytes(shared) +
                         hr_server_losses_bytes(shared) + logs_bytes(shared);
    return hr_round_up(bytes, HR_LINE) + packets_bytes(shared);
}

struct hr_server_packet *hr_server_packet_at(const struct hr_shared_state *shared, size_t worker,
                                             size_t shard)
{
    unsigned char *packets =
        (unsigned char *)shared->own + hr_server_bytes(shared) - packets_bytes(shared);
    return (void *)(packets + worker * packets_to(shared, shared->servers) +
                    packets_to(shared, shard));
}

/* As hr_shard_start and hr_replica_start take it. */
size_t hr_shard_bytes(const struct hr_shared_state *shared, size_t owner)
{
    const size_t number = owner % shared->servers, first = hr_server_slice(shared, number);
    const size_t count = hr_server_slice(shared, number + 1) - first;
    const bool leads = shared->copies > 1 && !shared->single && owner == number;
    const bool loses = shared->outlives && shared->strategy->lose;
    size_t bytes = shared->workers * (sizeof(struct hr_client) + sizeof(const float *));
    if (!leads || !(loses || shared->begins_with.n))
        return bytes;
    if (shared->strategy->private_state)
        bytes += shared->workers * count * sizeof(float);
    return bytes + hr_fates_bytes(shared->workers, hr_fates_room(shared));
}

static struct hr_ring *ring_at(const struct hr_shared_state *shared, size_t worker, size_t shard,
                               enum hr_pair_way way)
{
    return hr_pair_ring(shared->own, HR_SERVER_SLOTS, worker * shared->servers + shard, way);
}

struct hr_ring *hr_server_requests(const struct hr_shared_state *shared, size_t worker,
                                   size_t shard)
{
    return ring_at(shared, worker, shard, HR_REQUESTS);
}

struct hr_ring *hr_server_replies(const struct hr_shared_state *shared, size_t worker, size_t shard)
{
    return ring_at(shared, worker, shard, HR_REPLIES);
}

float *hr_server_weights(const struct hr_shared_state *shared, size_t copy)
{
    const size_t at = rings_bytes(shared) + copy * copy_bytes(shared);
    return (float *)(void *)((unsigned char *)shared->own + at);
}

/* The array after one of so many floats. */
static float *behind(float *array, size_t floats)
{
    return (float *)(void *)((unsigned char *)array + array_bytes(floats));
}

float *hr_server_scratch(const struct hr_shared_state *shared, size_t copy)
{
    return scratch_floats(shared) ? behind(hr_server_weights(shared, copy), shared->params) : NULL;
}

float *hr_server_ratio(const struct hr_shared_state *shared, size_t copy)
{
    return behind(behind(hr_server_weights(shared, copy), shared->params), scratch_floats(shared));
}

float *hr_server_state(const struct hr_shared_state *shared, size_t copy)
{
    return behind(hr_server_ratio(shared, copy), hr_ratio_floats(shared));
}

struct hr_server_loss *hr_server_losses(const struct hr_shared_state *shared)
{
    return (void *)hr_server_weights(shared, shared->copies);
}

struct hr_loss_at_shard *hr_loss_at_shard(const struct hr_shared_state *shared, size_t worker,
                                          size_t shard)
{
    struct hr_loss_at_shard *all = (void *)(hr_server_losses(shared) + shared->workers);
    return &all[worker * shared->servers + shard];
}

/* Servers may begin after losses: all went back to a cut. */
static void init_losses(const struct hr_shared_state *shared)
{
    struct hr_server_loss *lines = hr_server_losses(shared);
    for (size_t w = 0; w < shared->workers; w++) {
        const uint32_t lost = hr_roster_lost(shared->control, w);
        hr_atom32_store_release(&lines[w].taken, lost);
        lines[w].gone = hr_roster_is_gone(shared->control, w);
        for (size_t s = 0; s < shared->servers; s++)
            hr_atom32_store_release(&hr_loss_at_shard(shared, w, s)->taken, lost);
    }
}

static void init_logs(const struct hr_shared_state *shared)
{
    for (size_t s = 0; shared->copies > 1 && s < shared->servers; s++) {
        const struct hr_server_log log = hr_server_log(shared, s);
        const size_t rank = hr_shard_rank(shared, s);
        *log.alone = shared->single || hr_roster_is_gone(shared->control, rank) ||
                     !hr_replica_lives(shared, rank);
        hr_ring_init(log.ring, log_slots(shared), 0);
    }
}

void hr_server_init(struct hr_shared_state *shared)
{
    hr_pairs_init(shared->own, HR_SERVER_SLOTS, shared->workers * shared->servers);
    if (hr_server_losses_bytes(shared))
        init_losses(shared);
    init_logs(shared);
}

size_t hr_server_slice(const struct hr_shared_state *shared, size_t shard)
{
    return hr_stripe_begin(shared->params, shared->servers, shard);
}

/* --- messages --- */

const char *hr_server_request_name(uint32_t kind)
{
    static const char *const names[] = {
        [HR_PULL - HR_PULL] = "pull",         [HR_PUSH - HR_PULL] = "push",
        [HR_PUSHPULL - HR_PULL] = "exchange", [HR_CUT - HR_PULL] = "cut",
        [HR_DONE - HR_PULL] = "done",         [HR_GONE - HR_PULL] = "gone",
        [HR_JOIN - HR_PULL] = "join",         [HR_AGAIN - HR_PULL] = "again",
    };
    const char *name = kind >= HR_PULL && kind <= HR_AGAIN ? names[kind - HR_PULL] : NULL;
    return name ? name : "unknown";
}

bool hr_replica_lives(const struct hr_shared_state *shared, size_t rank)
{
    if (shared->copies < 2 || rank < shared->workers)
        return false;
    const bool first = rank < shared->workers + shared->servers;
    return !hr_roster_is_gone(shared->control,
                              first ? rank + shared->servers : rank - shared->servers);
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
    const struct hr_ring *ring = ring_at(shared, worker, shard, request ? HR_REQUESTS : HR_REPLIES);
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
    struct hr_ring *ring = ring_at(shared, worker, shard, request ? HR_REQUESTS : HR_REPLIES);
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
    if (!shard->shared->logs || taken->kind == HR_DUPLICATE)
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
