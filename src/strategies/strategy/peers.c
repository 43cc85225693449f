#include "strategy/peers.h"

#include <string.h>

#include "base/size.h"
#include "observe/spans.h"
#include "shm/control.h"

enum { SLOTS = 4 }; /* a neighbour is one step ahead at most */

static size_t counts_bytes(const struct hr_shared_state *shared)
{
    return hr_round_up(shared->workers * shared->workers * sizeof(struct hr_atom64), HR_LINE);
}

size_t hr_peers_bytes(const struct hr_shared_state *shared)
{
    const size_t rings = hr_shared_is_multinode(shared) ? shared->workers * shared->workers : 0;
    return shared->have_peers ? counts_bytes(shared) + rings * hr_ring_bytes(SLOTS) : 0;
}

static struct hr_atom64 *count_of(const struct hr_shared_state *shared, size_t to, size_t from)
{
    return (struct hr_atom64 *)shared->peers + to * shared->workers + from;
}

static struct hr_ring *ring_of(const struct hr_shared_state *shared, size_t to, size_t from)
{
    unsigned char *rings = (unsigned char *)shared->peers + counts_bytes(shared);
    return (void *)(rings + (to * shared->workers + from) * hr_ring_bytes(SLOTS));
}

static bool are_together(const struct hr_shared_state *shared, size_t a, size_t b)
{
    return hr_hosts_same(&shared->hosts, a, b);
}

void hr_peers_init(const struct hr_shared_state *shared)
{
    if (!shared->have_peers)
        return;
    memset(shared->peers, 0, hr_peers_bytes(shared));
    for (size_t to = 0; hr_shared_is_multinode(shared) && to < shared->workers; to++)
        for (size_t from = 0; from < shared->workers; from++)
            hr_ring_init(ring_of(shared, to, from), SLOTS, 0);
}

uint64_t hr_peers_came(const struct hr_shared_state *shared, size_t to, size_t from)
{
    if (are_together(shared, to, from) || hr_hosts_here(&shared->hosts, from))
        return hr_atom64_load_acquire(count_of(shared, to, from)); /* partner: deliver */
    struct hr_ring *ring = ring_of(shared, to, from);
    return hr_ring_taken_spsc(ring) + (hr_ring_peek_spsc(ring) != NULL);
}

/* Unlike those of servers and of stages: one per step, from the one to the other. */
static void report_message(const struct hr_worker *worker, size_t from, size_t to)
{
    const struct hr_shared_state *shared = worker->shared;
    const bool sent = worker->rank == from;
    const uint64_t step = worker->index & ((UINT64_C(1) << 40) - 1);
    if (shared->spans)
        hr_spans_message(shared->spans[worker->rank], sent, sent ? to : from,
                         HR_PEER_MESSAGE | (uint64_t)(from * shared->workers + to) << 40 | step);
}

void hr_peers_deliver(const struct hr_shared_state *shared, size_t from, size_t to)
{
    struct hr_atom64 *count = count_of(shared, to, from);
    hr_atom64_store_release(count, hr_atom64_load_relaxed(count) + 1); /* partner: came */
    hr_bell_ring(&shared->control->rank[to].bell);
}

static void put_in_ring(const struct hr_shared_state *shared, size_t from, size_t to,
                        struct hr_payload payload)
{
    struct hr_message *slot = hr_ring_try_reserve_spsc(ring_of(shared, to, from));
    HR_ASSERT(slot);
    *slot = (struct hr_message){
        .sequence = hr_atom64_load_relaxed(count_of(shared, to, from)),
        .from = (uint32_t)from,
        .word = {(uintptr_t)payload.at - (uintptr_t)shared->segment, payload.bytes},
    };
    hr_ring_commit_spsc(ring_of(shared, to, from));
}

void hr_peer_send(const struct hr_worker *worker, size_t to, struct hr_payload payload)
{
    const struct hr_shared_state *shared = worker->shared;
    const struct hr_posted what = {.from = worker->rank, .to = to, .bytes = payload.bytes};
    report_message(worker, worker->rank, to);
    HR_ASSERT(!shared->posted || !hr_shared_is_multinode(shared)); /* who runs all is one machine */
    if (shared->posted && shared->posted(shared->posted_arg, &what))
        return;
    if (!are_together(shared, to, worker->rank))
        put_in_ring(shared, worker->rank, to, payload);
    hr_peers_deliver(shared, worker->rank, to);
}

void hr_peer_took(const struct hr_worker *worker, size_t from, size_t bytes)
{
    const struct hr_shared_state *shared = worker->shared;
    worker->stats->bytes_received += bytes;
    report_message(worker, from, worker->rank);
    if (are_together(shared, worker->rank, from))
        return;
    hr_ring_release_spsc(ring_of(shared, worker->rank, from));
    hr_bell_ring(&shared->control->rank[from].bell);
}

enum hr_status hr_peers_each_ring(const struct hr_shared_state *shared, hr_visit_ring_fn visit,
                                  void *arg)
{
    for (size_t to = 0; shared->have_peers && to < shared->workers; to++)
        for (size_t from = 0; from < shared->workers; from++)
            if (!are_together(shared, to, from))
                HR_TRY(visit(arg, from, to, ring_of(shared, to, from)));
    return HR_OK;
}
