/* Parameter servers at a cut: when all who live have arrived, a shard exports its slice. */
#include <string.h>

#include "server/server_replica.h"

void hr_shard_export(struct hr_shard *shard)
{
    const struct hr_shared_state *shared = shard->shared;
    memcpy(shared->snapshot.weights + shard->first, shard->weights, shard->count * sizeof(float));
    if (!shared->strategy->private_state)
        hr_export_state(shared, shard->state, shard->first, shard->count);
    if (!shared->strategy->private_state && shard->number == 0)
        shared->snapshot.applied[0] = shard->before + shard->version;
}

static void export(struct hr_shard *shard)
{
    if (shard->joined && shard->exported == shard->version + 1) /* somebody may be reading it */
        return;
    shard->exported = shard->version + 1;
    if (shard->speaks)
        hr_shard_export(shard);
}

/* From the first return on, some may have rested while another worked, who may be gone by now. */
static bool cut_is_complete(const struct hr_shard *shard)
{
    size_t here = 0;
    for (size_t w = 0; w < shard->shared->workers; w++) {
        const struct hr_client *client = &shard->worker[w];
        const bool is_here = client->arrived || (shard->joined && client->rests);
        here += is_here;
        if (!is_here && !client->left)
            return false;
    }
    return here > 0;
}

/* All have the same weights: no worker is ahead. */
void hr_shard_finish_cut(struct hr_shard *shard)
{
    if (!cut_is_complete(shard) || !hr_replica_agrees(shard))
        return;
    export(shard);
    for (size_t w = 0; w < shard->shared->workers; w++) {
        struct hr_client *client = &shard->worker[w];
        const bool arrived = client->arrived;
        if (client->left)
            continue;
        client->arrived = false;
        client->rests = true;
        client->aside = shard->joined;
        client->read = shard->version;
        client->pushes += client->clock - client->began;
        client->clock = client->applied = client->began = 0;
        if (arrived)
            hr_shard_reply(shard, w, (struct hr_message){.kind = HR_CUT_DONE});
    }
}
