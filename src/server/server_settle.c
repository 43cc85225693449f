#include "server/server_settle.h"

#include <string.h>

#include "strategy/before_image.h"
#include "strategy/settle.h"

/* --- memory: [servers' | term | a line for each shard | image, a part for each shard] --- */

struct shard_line {
    alignas(HR_LINE) struct hr_atom64 done; /* updates before this one are in its slice */
};

static bool settles(const struct hr_shared_state *shared)
{
    return shared->outlives && shared->strategy->recalls;
}

size_t hr_server_settle_bytes(const struct hr_shared_state *shared)
{
    const size_t lines = settles(shared) ? shared->servers * sizeof(struct shard_line) : 0;
    return hr_server_bytes(shared) + hr_term_record_bytes(shared) + lines +
           hr_before_image_bytes(shared, shared->servers);
}

static struct hr_term_record *record_of(const struct hr_shared_state *shared)
{
    return (void *)((unsigned char *)shared->own + hr_server_bytes(shared));
}

static struct shard_line *lines_of(const struct hr_shared_state *shared)
{
    return (void *)((unsigned char *)record_of(shared) + hr_term_record_bytes(shared));
}

static struct hr_before_image image_of(const struct hr_shared_state *shared)
{
    unsigned char *first = (unsigned char *)(lines_of(shared) + shared->servers);
    return hr_before_image_at(shared, first, shared->servers);
}

void hr_server_settle_init(struct hr_shared_state *shared)
{
    hr_server_init(shared);
    if (settles(shared))
        hr_term_record_begin(shared, record_of(shared));
}

/* --- a shard --- */

void hr_shard_know_seats(struct hr_shard *shard)
{
    const struct hr_seats *seats = shard->shared->seats;
    if (!settles(shard->shared))
        return;
    for (size_t w = 0; w < shard->shared->workers; w++)
        hr_client_leave(&shard->worker[w], HR_LEFT_GONE);
    for (size_t s = 0; s < seats->n; s++)
        hr_client_leave(&shard->worker[seats->rank[s]], HR_LEFT_NOT);
    shard->ngone = shard->shared->workers - seats->n;
}

void hr_shard_begin_update(const struct hr_shard *shard, uint64_t index)
{
    if (!settles(shard->shared))
        return;
    const struct hr_before_image image = image_of(shard->shared);
    const struct hr_range slice = {shard->first, shard->count};
    hr_before_image_keep(&image, shard->number, index, slice, shard->weights, shard->state);
}

void hr_shard_end_update(const struct hr_shard *shard, uint64_t index)
{
    if (settles(shard->shared)) /* partner: hr_server_settle */
        hr_atom64_store_release(&lines_of(shard->shared)[shard->number].done, index + 1);
}

/* --- the launcher --- */

static uint64_t slowest(const struct hr_shared_state *shared)
{
    const struct shard_line *line = lines_of(shared);
    uint64_t least = UINT64_MAX;
    for (size_t s = 0; s < shared->servers; s++) {
        const uint64_t done = hr_atom64_load_acquire(&line[s].done); /* partner: end_update */
        least = done < least ? done : least;
    }
    /* 0: it has made none. */
    return least > shared->seats->index ? least : shared->seats->index;
}

uint64_t hr_server_settle(struct hr_shared_state *shared)
{
    const uint64_t index = slowest(shared);
    for (size_t s = 0; s < shared->servers; s++) {
        const size_t first = hr_server_slice(shared, s);
        const struct hr_range slice = {first, hr_server_slice(shared, s + 1) - first};
        const struct hr_before_image image = image_of(shared);
        if (hr_before_image_has(&image, s, index)) {
            hr_before_image_restore(&image, slice);
            continue;
        }
        memcpy(shared->snapshot.weights + first, hr_server_weights(shared) + first,
               slice.count * sizeof(float));
        hr_export_state(shared, hr_server_state(shared), first, slice.count);
    }
    hr_term_settled(shared, record_of(shared), index);
    return index;
}
