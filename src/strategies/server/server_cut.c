/* Parameter servers at a cut: when all who live have arrived, a shard exports its slice. */
#include <string.h>

#include "server/server.h"

void hr_shard_copy_to(const struct hr_shard *shard, const struct hr_snapshot *to)
{
    const struct hr_shared_state *shared = shard->shared;
    const size_t bytes = shard->count * sizeof(float);
    const size_t states = shared->strategy->rows.state == HR_KEPT_OWN ? 0 : hr_state_floats(shared);
    if (!to->live)
        memcpy(to->weights + shard->first, shard->weights, bytes);
    for (size_t at = shard->first; to->state && at < states; at += shared->params)
        memcpy(to->state + at, shard->state + at, bytes);
    if (shared->strategy->rows.state != HR_KEPT_OWN && shard->number == 0)
        to->applied[0] = shard->before + shard->version;
}

static void export_slice(struct hr_shard *shard)
{
    hr_shard_copy_to(shard, &shard->shared->snapshot);
}

static void export(struct hr_shard *shard)
{
    if (shard->joined && shard->exported == shard->version + 1) /* somebody may be reading it */
        return;
    shard->exported = shard->version + 1;
    export_slice(shard);
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

/* At an epoch's end all have the same weights: no worker is ahead. Where an asynchronous run only
 * rests, to save, clocks go on. */
static void leave_cut(const struct hr_shard *shard, struct hr_client *client)
{
    const struct hr_shared_state *shared = shard->shared;
    client->pushes += client->clock - client->began;
    client->began = client->clock;
    if (shared->strategy->pause && hr_cut_only_rests(shared))
        return;
    client->read = shard->version;
    client->clock = client->applied = client->began = 0;
}

void hr_shard_finish_cut(struct hr_shard *shard)
{
    if (!cut_is_complete(shard))
        return;
    export(shard);
    for (size_t w = 0; w < shard->shared->workers; w++) {
        struct hr_client *client = &shard->worker[w];
        const bool arrived = client->arrived;
        if (client->left)
            continue;
        client->arrived = false;
        client->rests = true;
        client->aside = shard->joined || !hr_server_pushes(shard->shared, w);
        leave_cut(shard, client);
        if (arrived)
            hr_shard_reply(shard, w, (struct hr_message){.kind = HR_CUT_DONE});
    }
}
