/* pair.h - two rings that join a client to the owner of something: requests there, replies back.
 *
 *     pairs   [ requests 0 | replies 0 | requests 1 | replies 1 | ... ]      n of them
 *
 * The servers of training (server/server.h) and the store (store/store.h) are owners; how clients
 * and owners are numbered, and what messages mean, is theirs. A client never has more under way
 * than a ring has slots, so sending never waits.
 *
 * Memory:   the caller gives n times hr_pair_bytes(), aligned to HR_LINE.
 * Threads:  of a pair, one client (sends requests, takes replies) and one owner (the other way).
 * Test:     tests/unit/shm/test_pair.c
 */
#ifndef HR_SHM_PAIR_H
#define HR_SHM_PAIR_H

#include "base/error.h"
#include "shm/ring.h"
#include "shm/wait.h"

enum hr_pair_way { HR_REQUESTS, HR_REPLIES };

/* Bytes of one pair with so many slots each way, a power of two. */
static inline size_t hr_pair_bytes(size_t slots)
{
    return 2 * hr_ring_bytes(slots);
}

/* One ring of pair `number`. */
static inline struct hr_ring *hr_pair_ring(void *pairs, size_t slots, size_t number,
                                           enum hr_pair_way way)
{
    const size_t at = number * hr_pair_bytes(slots) + (way == HR_REPLIES) * hr_ring_bytes(slots);
    return (struct hr_ring *)(void *)((unsigned char *)pairs + at);
}

static inline void hr_pairs_init(void *pairs, size_t slots, size_t n)
{
    for (size_t number = 0; number < n; number++) {
        hr_ring_init(hr_pair_ring(pairs, slots, number, HR_REQUESTS), slots, 0);
        hr_ring_init(hr_pair_ring(pairs, slots, number, HR_REPLIES), slots, 0);
    }
}

/* Send. The ring has room by construction (asserted). bell: the receiver's, which is rung; NULL: it
 * will look by itself. */
static inline void hr_pair_send(struct hr_ring *ring, struct hr_bell *bell,
                                const struct hr_message *message)
{
    struct hr_message *slot = hr_ring_try_reserve_spsc(ring);
    HR_ASSERT(slot);
    *slot = *message;
    hr_ring_commit_spsc(ring);
    if (bell)
        hr_bell_ring(bell);
}

#endif
