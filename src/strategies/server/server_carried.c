#include "server/server_carried.h"

#include "server/server.h"
#include "server/server_packets.h"
#include "shm/pair.h"

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
        const struct hr_server_packet *packet = hr_server_packet_at(shared, worker, shard);
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

enum hr_status hr_server_carry(const struct hr_shared_state *shared, struct hr_carrier *carrier)
{
    HR_ASSERT(hr_homes_together(&shared->homes, 0, hr_shard_rank(shared, 0)));
    struct hr_atom64 *next = &shared->dispenser->next;
    hr_carrier_track(carrier, hr_shard_rank(shared, 0), next, sizeof *next);
    for (size_t w = 0; w < shared->workers; w++)
        for (size_t s = 0; s < shared->servers; s++) {
            const size_t owner = hr_shard_rank(shared, s);
            HR_TRY(hr_carrier_add_ring(carrier, hr_server_requests(shared, w, s), w, owner,
                                       cargo_of, shared));
            HR_TRY(hr_carrier_add_ring(carrier, hr_server_replies(shared, w, s), owner, w, cargo_of,
                                       shared));
        }
    return HR_OK;
}
