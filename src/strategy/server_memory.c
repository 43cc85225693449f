/* Parameter servers: their memory, and the messages that travel in it. Both halves stand on it. */
#include "strategy/server.h"

#include "base/size.h"
#include "shm/pair.h"
#include "strategy/server_losses.h"

/* --- memory: [requests and replies | weights | scratch | ratio | state | losses] --- */

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

size_t hr_server_bytes(const struct hr_shared_state *shared)
{
    return rings_bytes(shared) + 2 * array_bytes(shared->params) +
           array_bytes(hr_ratio_floats(shared)) + array_bytes(served_state_floats(shared)) +
           hr_server_losses_bytes(shared);
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

float *hr_server_weights(const struct hr_shared_state *shared)
{
    return (float *)(void *)((unsigned char *)shared->own + rings_bytes(shared));
}

/* The array after one of so many floats. */
static float *behind(float *array, size_t floats)
{
    return (float *)(void *)((unsigned char *)array + array_bytes(floats));
}

float *hr_server_scratch(const struct hr_shared_state *shared)
{
    return behind(hr_server_weights(shared), shared->params);
}

float *hr_server_ratio(const struct hr_shared_state *shared)
{
    return behind(hr_server_scratch(shared), shared->params);
}

float *hr_server_state(const struct hr_shared_state *shared)
{
    return behind(hr_server_ratio(shared), hr_ratio_floats(shared));
}

struct hr_server_loss *hr_server_losses(const struct hr_shared_state *shared)
{
    return (void *)behind(hr_server_state(shared), served_state_floats(shared));
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
    hr_pairs_init(shared->own, HR_SERVER_SLOTS, shared->workers * shared->servers);
    if (hr_server_losses_bytes(shared))
        init_losses(shared);
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
        [HR_JOIN - HR_PULL] = "join",
    };
    const char *name = kind >= HR_PULL && kind <= HR_JOIN ? names[kind - HR_PULL] : NULL;
    return name ? name : "unknown";
}

void hr_server_send(const struct hr_shared_state *shared, const struct hr_posted *what,
                    const struct hr_message *message)
{
    const bool request = what->from < shared->workers;
    const size_t worker = request ? what->from : what->to;
    const size_t shard = (request ? what->to : what->from) - shared->workers;
    if (shared->posted)
        shared->posted(shared->posted_arg, what);
    hr_pair_send(ring_at(shared, worker, shard, request ? HR_REQUESTS : HR_REPLIES),
                 &shared->control->rank[hr_party_rank(shared, what->to)].bell, message);
}

void hr_shard_reply(struct hr_shard *shard, size_t worker, struct hr_message message)
{
    message.from = (uint32_t)hr_shard_rank(shard->shared, shard->number);
    message.sequence = shard->version;
    message.word[HR_REPLY_STALENESS] = shard->worker[worker].staleness;
    const struct hr_posted what = {
        .from = shard->shared->workers + shard->number,
        .to = worker,
        .bytes = sizeof message + (message.kind == HR_WEIGHTS ? shard->count * sizeof(float) : 0),
    };
    hr_server_send(shard->shared, &what, &message);
}
