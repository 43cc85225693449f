/* Parameter servers: their memory. Both halves stand on it. */
#include "server/server.h"

#include "base/size.h"
#include "shm/pair.h"
#include "strategy/overlap.h"
#include "strategy/push_slice.h"
#include "server/server_losses.h"

/* --- memory: [rings | weights, scratch, ratio, state | losses | packets] --- */

static size_t rings_bytes(const struct hr_shared_state *shared)
{
    return shared->workers * shared->servers * hr_pair_bytes(hr_server_slots(shared));
}

size_t hr_server_slots(const struct hr_shared_state *shared)
{
    const bool parts = hr_shared_is_apart(shared) && shared->overlaps;
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
    const size_t bytes = rings_bytes(shared) + arrays_bytes(shared) + losses_bytes(shared);
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

size_t hr_server_slice(const struct hr_shared_state *shared, size_t shard)
{
    return hr_stripe_begin(shared->params, shared->servers, shard);
}

struct hr_range hr_server_share(const struct hr_shared_state *shared, size_t shard, size_t begin,
                                size_t end)
{
    const size_t from = hr_max_size(hr_server_slice(shared, shard), begin);
    const size_t to = hr_min_size(hr_server_slice(shared, shard + 1), end);
    return (struct hr_range){from, to > from ? to - from : 0};
}
