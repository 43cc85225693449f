/* A shard on two ranks: how one of them goes on without the other. */
#include "server/server_replica.h"

#include <string.h>

#include "shm/control.h"
#include "server/server_losses.h"
#include "trace/trace_log.h"

/* The log is empty: what the leader had taken and not logged lies in the rings once more. */
static void lead(struct hr_shard *shard)
{
    const struct hr_shared_state *shared = shard->shared;
    for (size_t w = 0; w < shared->workers; w++)
        hr_ring_rewind_spsc(hr_server_requests(shared, w, shard->number), shard->worker[w].place);
    if (shard->taken.kind && shared->logs &&
        hr_trace_log_entries(&shared->logs[shard->number]) == shard->note.noted)
        hr_shard_note(shard);
    shard->leads = true;
    shard->log = NULL;
}

static bool is_owed(const struct hr_shard *shard, size_t worker)
{
    const struct hr_client *client = &shard->worker[worker];
    const struct hr_ring *ring = hr_server_replies(shard->shared, worker, shard->number);
    return !client->left && hr_ring_committed_spsc(ring) != client->replies;
}

static void give_what_is_owed(struct hr_shard *shard)
{
    bool exports = false;
    for (size_t w = 0; w < shard->shared->workers; w++)
        exports |= is_owed(shard, w) && shard->worker[w].reply.kind == HR_CUT_DONE;
    if (exports)
        hr_shard_export(shard);
    for (size_t w = 0; w < shard->shared->workers; w++) {
        struct hr_client *client = &shard->worker[w];
        if (is_owed(shard, w))
            hr_shard_reply_again(shard, w);
        client->replies =
            hr_ring_committed_spsc(hr_server_replies(shard->shared, w, shard->number));
    }
}

static void speak(struct hr_shard *shard)
{
    struct hr_shared_state *shared = shard->shared;
    shard->speaks = true;
    hr_ring_drop_spsc(shard->log); /* who took from it is dead: hr_replica_untold */
    shard->log = NULL;
    if (shard->number == 0 && !shared->strategy->synchronous)
        hr_shard_handed_out(shard, shard->next);
    if (shard->own_fates) {
        if (shard->number == 0)
            hr_fates_copy(shared->fates, shard->own_fates);
        shard->fates = shared->fates;
        hr_shard_say_losses(shard);
    }
    give_what_is_owed(shard);
}

/* Whatever its partner sent is seen after the word that it is gone. */
void hr_replica_look(struct hr_shard *shard)
{
    const size_t rank = hr_shard_rank(shard->shared, shard->owner);
    if (!shard->log || hr_replica_lives(shard->shared, rank))
        return;
    if (!shard->speaks)
        speak(shard);
    else if (!hr_ring_peek_spsc(shard->log))
        lead(shard);
}

/* --- for drivers --- */

static void enable_logged(const struct hr_shard *shard, unsigned char *enabled)
{
    const struct hr_message *entry = hr_ring_peek_spsc(shard->log);
    for (size_t w = 0; w < shard->shared->workers; w++)
        enabled[w] = enabled[w] && entry && entry->from == w;
}

void hr_replica_enabled(struct hr_shard *shard, unsigned char *enabled)
{
    if (!shard->leads)
        enable_logged(shard, enabled);
    else if (shard->speaks || hr_ring_try_reserve_spsc(shard->log))
        shard->shared->strategy->enabled(shard, enabled);
    else /* only when workers die over and over while the other is stopped: it looks again soon */
        memset(enabled, 0, shard->shared->workers);
}

/* What has no effect need not be known. The log of a recorded run never has what the speaker could
 * miss. */
void hr_replica_take(struct hr_shard *shard, size_t worker)
{
    shard->shared->strategy->take(shard, worker);
    if (!shard->speaks && shard->taken.kind != HR_DUPLICATE)
        hr_replica_write(shard, worker);
    if (shard->leads)
        hr_shard_note(shard);
}

/* --- for replays --- */

bool hr_replica_owes(const struct hr_shard *shard, size_t worker)
{
    return is_owed(shard, worker) && shard->worker[worker].reply.kind == HR_WEIGHTS;
}

void hr_replica_give(struct hr_shard *shard, size_t worker)
{
    hr_shard_reply_again(shard, worker);
}
