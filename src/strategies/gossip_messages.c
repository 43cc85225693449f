#include "strategies/gossip_messages.h"

#include "base/size.h"
#include "shm/control.h"

enum { SLOTS = 4 }; /* a neighbour is one step ahead at most */

static size_t counts_bytes(const struct hr_shared_state *shared)
{
    return hr_round_up(shared->workers * shared->workers * sizeof(struct hr_atom64), HR_LINE);
}

size_t hr_gossip_messages_bytes(const struct hr_shared_state *shared)
{
    const size_t rings = hr_shared_is_apart(shared) ? shared->workers * shared->workers : 0;
    return counts_bytes(shared) + rings * hr_ring_bytes(SLOTS);
}

static struct hr_atom64 *count_of(const struct hr_shared_state *shared, size_t to, size_t from)
{
    return (struct hr_atom64 *)shared->own + to * shared->workers + from;
}

static struct hr_ring *ring_of(const struct hr_shared_state *shared, size_t to, size_t from)
{
    unsigned char *rings = (unsigned char *)shared->own + counts_bytes(shared);
    return (void *)(rings + (to * shared->workers + from) * hr_ring_bytes(SLOTS));
}

static bool are_together(const struct hr_shared_state *shared, size_t a, size_t b)
{
    return hr_homes_together(&shared->homes, a, b);
}

void hr_gossip_messages_init(const struct hr_shared_state *shared)
{
    for (size_t to = 0; hr_shared_is_apart(shared) && to < shared->workers; to++)
        for (size_t from = 0; from < shared->workers; from++)
            hr_ring_init(ring_of(shared, to, from), SLOTS, 0);
}

uint64_t hr_gossip_came(const struct hr_shared_state *shared, size_t to, size_t from)
{
    if (are_together(shared, to, from) || hr_homes_here(&shared->homes, from))
        return hr_atom64_load_acquire(count_of(shared, to, from)); /* partner: deliver */
    struct hr_ring *ring = ring_of(shared, to, from);
    return hr_ring_taken_spsc(ring) + (hr_ring_peek_spsc(ring) != NULL);
}

void hr_gossip_deliver(const struct hr_shared_state *shared, size_t to, size_t from,
                       struct hr_gossip_payload payload)
{
    struct hr_atom64 *count = count_of(shared, to, from);
    if (!are_together(shared, to, from)) {
        struct hr_message *slot = hr_ring_try_reserve_spsc(ring_of(shared, to, from));
        HR_ASSERT(slot);
        *slot = (struct hr_message){
            .sequence = hr_atom64_load_relaxed(count),
            .from = (uint32_t)from,
            .word = {(uintptr_t)payload.at - (uintptr_t)shared->segment, payload.bytes},
        };
        hr_ring_commit_spsc(ring_of(shared, to, from));
    }
    hr_atom64_store_release(count, hr_atom64_load_relaxed(count) + 1); /* partner: came */
    hr_bell_ring(&shared->control->rank[to].bell);
}

void hr_gossip_took(const struct hr_shared_state *shared, size_t to, size_t from)
{
    if (are_together(shared, to, from))
        return;
    hr_ring_release_spsc(ring_of(shared, to, from));
    hr_bell_ring(&shared->control->rank[from].bell);
}

enum hr_status hr_gossip_each_ring(const struct hr_shared_state *shared, hr_visit_ring_fn visit,
                                   void *arg)
{
    for (size_t to = 0; to < shared->workers; to++)
        for (size_t from = 0; from < shared->workers; from++)
            if (!are_together(shared, to, from))
                HR_TRY(visit(arg, from, to, ring_of(shared, to, from)));
    return HR_OK;
}
