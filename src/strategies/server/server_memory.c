/* Parameter servers: their memory. Both halves stand on it. */

#include <string.h>

#include "base/size.h"
#include "observe/spans.h"
#include "server/server.h"
#include "shm/pair.h"
#include "strategy/compression.h"
#include "strategy/shared.h"
#include "trace/trace.h"

/* --- memory: [rings | weights, scratch, ratio, state | losses | packets] --- */

static size_t rings_bytes(const struct hr_shared_state *shared)
{
    return shared->workers * shared->servers * hr_pair_bytes(hr_server_slots(shared));
}

size_t hr_server_slots(const struct hr_shared_state *shared)
{
    const bool parts = hr_shared_is_multinode(shared) && shared->overlaps;
    return parts ? HR_SERVER_SLOTS_OF_PARTS : HR_SERVER_SLOTS;
}

static size_t array_bytes(size_t floats)
{
    return hr_round_up(floats * sizeof(float), HR_LINE);
}

/* Of the state that shards hold: none where each worker has its own. */
static size_t served_state_floats(const struct hr_shared_state *shared)
{
    return shared->strategy->rows.state == HR_KEPT_OWN ? 0 : hr_state_floats(shared);
}

static size_t losses_bytes(const struct hr_shared_state *shared)
{
    return hr_server_takes_losses(shared)
               ? shared->workers * (sizeof(struct hr_server_loss) +
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

static size_t arrays_bytes(const struct hr_shared_state *shared)
{
    return array_bytes(shared->params) + array_bytes(scratch_floats(shared)) +
           array_bytes(hr_ratio_floats(shared)) + array_bytes(served_state_floats(shared));
}

/* --- packets: [of worker 0 to shard 0, 1, ... | of worker 1 ...], of compressed pushes --- */

static size_t packet_bytes(const struct hr_shared_state *shared, size_t shard)
{
    const size_t most = hr_push_slice_most(shared, hr_slice_begin(shared, shard),
                                           hr_slice_begin(shared, shard + 1));
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
    const bool any = hr_shared_is_multinode(shared) && hr_compression_of(shared);
    return any ? shared->workers * packets_to(shared, shared->servers) : 0;
}

/* --- all of it --- */

size_t hr_server_bytes(const struct hr_shared_state *shared)
{
    const size_t bytes = rings_bytes(shared) + arrays_bytes(shared) + losses_bytes(shared);
    return hr_round_up(bytes, HR_LINE) + packets_bytes(shared);
}

static struct hr_server_packet *packet_at(const struct hr_shared_state *shared, size_t worker,
                                          size_t shard)
{
    unsigned char *packets =
        (unsigned char *)shared->own + hr_server_bytes(shared) - packets_bytes(shared);
    return (void *)(packets + worker * packets_to(shared, shared->servers) +
                    packets_to(shared, shard));
}

/* As hr_shard_start takes it. */
size_t hr_shard_bytes(const struct hr_shared_state *shared)
{
    return shared->workers * (sizeof(struct hr_client) + sizeof(const float *));
}

static struct hr_ring *ring_at(const struct hr_shared_state *shared, size_t worker, size_t shard,
                               enum hr_pair_way way)
{
    return hr_pair_ring(shared->own, hr_server_slots(shared), worker * shared->servers + shard,
                        way);
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

float *hr_server_weights(const struct hr_shared_state *shared)
{
    const size_t at = rings_bytes(shared);
    return (float *)(void *)((unsigned char *)shared->own + at);
}

/* The array after one of so many floats. */
static float *behind(float *array, size_t floats)
{
    return (float *)(void *)((unsigned char *)array + array_bytes(floats));
}

float *hr_server_scratch(const struct hr_shared_state *shared)
{
    return scratch_floats(shared) ? behind(hr_server_weights(shared), shared->params) : NULL;
}

float *hr_server_ratio(const struct hr_shared_state *shared)
{
    return behind(behind(hr_server_weights(shared), shared->params), scratch_floats(shared));
}

float *hr_server_state(const struct hr_shared_state *shared)
{
    return behind(hr_server_ratio(shared), hr_ratio_floats(shared));
}

struct hr_server_loss *hr_server_losses(const struct hr_shared_state *shared)
{
    return (void *)((unsigned char *)shared->own + rings_bytes(shared) + arrays_bytes(shared));
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

void hr_server_init(struct hr_shared_state *shared)
{
    hr_pairs_init(shared->own, hr_server_slots(shared), shared->workers * shared->servers);
    if (losses_bytes(shared))
        init_losses(shared);
}

struct hr_range hr_server_share(const struct hr_shared_state *shared, size_t shard, size_t begin,
                                size_t end)
{
    const size_t from = hr_max_size(hr_slice_begin(shared, shard), begin);
    const size_t to = hr_min_size(hr_slice_begin(shared, shard + 1), end);
    return (struct hr_range){from, to > from ? to - from : 0};
}

bool hr_server_packs(const struct hr_shared_state *shared, size_t worker, size_t shard)
{
    return hr_shared_is_multinode(shared) && hr_compression_of(shared) &&
           !hr_hosts_same(&shared->hosts, worker, hr_shard_rank(shared, shard));
}

void hr_server_pack(const struct hr_worker *worker, size_t shard)
{
    const struct hr_shared_state *shared = worker->shared;
    struct hr_server_packet *packet = packet_at(shared, worker->rank, shard);
    packet->bytes = hr_push_slice_pack(worker, hr_slice_begin(shared, shard),
                                       hr_slice_begin(shared, shard + 1), packet->values);
}

void hr_server_unpack(const struct hr_shared_state *shared, size_t worker, size_t shard)
{
    const struct hr_server_packet *packet = packet_at(shared, worker, shard);
    hr_push_slice_unpack(shared, hr_slice_begin(shared, shard), hr_slice_begin(shared, shard + 1),
                         packet->values, packet->bytes, shared->grads[worker]);
}

/* Parameter servers: the messages that travel in their memory. Both halves stand on it. */
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

void hr_server_report_taken(const struct hr_shared_state *shared, size_t rank, size_t worker,
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
        shared->rests && request && message->kind != HR_DONE && hr_hosts_here(&shared->hosts, to);
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

/* What shard `shard` has of [begin, end) of a worker's vector, which lies in the segment. */
static struct hr_cargo share(const struct hr_shared_state *shared, const float *vector,
                             size_t shard, size_t begin, size_t end)
{
    const struct hr_range of = hr_server_share(shared, shard, begin, end);
    return (struct hr_cargo){.offset = (uintptr_t)(vector + of.begin) - (uintptr_t)shared->segment,
                             .bytes = of.count * sizeof *vector};
}

static struct hr_cargo cargo_of(const void *arg, const struct hr_ring *ring,
                                const struct hr_message *message)
{
    const struct hr_shared_state *shared = arg;
    const size_t bytes = hr_pair_bytes(hr_server_slots(shared)), params = shared->params;
    const size_t pair = ((uintptr_t)ring - (uintptr_t)shared->own) / bytes;
    const size_t worker = pair / shared->servers, shard = pair % shared->servers;
    if (message->kind == HR_PUSH && hr_server_packs(shared, worker, shard)) {
        const struct hr_server_packet *packet = packet_at(shared, worker, shard);
        return (struct hr_cargo){.offset = (uintptr_t)packet - (uintptr_t)shared->segment,
                                 .bytes = sizeof *packet + packet->bytes};
    }
    if (message->kind == HR_PART)
        return share(shared, shared->grads[worker], shard, message->word[HR_PART_BEGIN],
                     message->word[HR_PART_END]);
    if (message->kind == HR_PUSH)
        return share(shared, shared->grads[worker], shard, 0,
                     params - message->word[HR_REQUEST_AHEAD]);
    if (message->kind == HR_PUSHPULL || message->kind == HR_WEIGHTS)
        return share(shared, shared->weights[worker], shard, 0, params);
    return (struct hr_cargo){0};
}

enum hr_status hr_server_carry(const struct hr_shared_state *shared, struct hr_bridge *bridge)
{
    HR_ASSERT(hr_hosts_same(&shared->hosts, 0, hr_shard_rank(shared, 0)));
    struct hr_atom64 *next = &shared->dispenser->next;
    hr_bridge_track(bridge, hr_shard_rank(shared, 0), next, sizeof *next);
    for (size_t w = 0; w < shared->workers; w++)
        for (size_t s = 0; s < shared->servers; s++) {
            const size_t owner = hr_shard_rank(shared, s);
            HR_TRY(hr_bridge_add_ring(bridge, hr_server_requests(shared, w, s), w, owner, cargo_of,
                                      shared));
            HR_TRY(hr_bridge_add_ring(bridge, hr_server_replies(shared, w, s), owner, w, cargo_of,
                                      shared));
        }
    return HR_OK;
}
