/* A worker's half of a store: what it knows of operations, and replies. */
#include <stdlib.h>
#include <string.h>

#include "store/store.h"

enum hr_status hr_client_create(struct hr_store *store)
{
    struct hr_store_client *client = calloc(1, sizeof *client);
    if (!client)
        return hr_fail(HR_E_NOMEM, "no memory for a store's operations");
    store->client = client; /* whoever closes the store frees it */
    client->version = calloc(store->partition.nparts + 1, sizeof *client->version);
    client->stage = calloc(store->partition.nkeys, sizeof *client->stage);
    if (!client->version || !client->stage)
        return hr_fail(HR_E_NOMEM, "no memory for a store of %zu keys", store->partition.nkeys);
    return HR_OK;
}

void hr_client_destroy(struct hr_store_client *client)
{
    if (!client)
        return;
    free(client->version);
    free(client->stage);
    free(client);
}

/* --- replies --- */

size_t hr_store_key_bytes(const struct hr_store *store, size_t key)
{
    const struct hr_partition *p = &store->partition;
    const struct hr_part *last = &p->part[p->of_key[key + 1] - 1];
    return (last->first + last->count) * sizeof(float);
}

static void take_reply(struct hr_store *store, const struct hr_message *reply)
{
    struct hr_store_op *op = hr_client_op(store->client, reply->sequence);
    struct hr_store_version *version = &store->client->version[reply->word[HR_STORE_PART]];
    HR_ASSERT(op->ticket == reply->sequence && op->missing > 0);
    if (reply->kind != HR_STORE_PUSH)
        version->read = reply->word[HR_STORE_VERSION];
    if (reply->kind != HR_STORE_PULL) {
        version->written = reply->word[HR_STORE_VERSION];
        version->staleness = reply->word[HR_STORE_STALENESS];
    }
    op->missing--;
    if (op->missing == 0 && op->staged) {
        memcpy(op->out, op->staged, hr_store_key_bytes(store, op->key));
    }
}

bool hr_client_advance(struct hr_store *store)
{
    bool taken = false;
    for (size_t s = 0; s < store->shards; s++) {
        struct hr_ring *ring = hr_store_replies(store, store->rank, s);
        const struct hr_message *reply;
        while ((reply = hr_ring_peek_spsc(ring))) {
            take_reply(store, reply);
            hr_ring_release_spsc(ring);
            taken = true;
        }
    }
    return taken;
}

void hr_client_done(struct hr_store *store)
{
    const struct hr_message done = {.kind = HR_STORE_DONE, .from = (uint32_t)store->rank};
    for (size_t s = 0; s < store->shards; s++)
        hr_store_send(store, hr_store_requests(store, store->rank, s), hr_store_owner(store, s),
                      &done);
}
