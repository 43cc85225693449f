/* ring.h - single-producer single-consumer ring of 64-byte messages in shared memory.
 *
 * Picture:   [ producer line | consumer line | constant line | slot 0 | ... | slot n-1 ]
 *              tail, and its   head, and its   mask, which
 *              copy of head    copy of tail    both read
 *            Lines are HR_LINE bytes, each with one writer; nobody writes the constant one.
 * Memory:    the caller gives hr_ring_bytes() bytes, aligned to HR_LINE; nothing here allocates,
 *            and no pointer is stored inside, so it may lie at another address in each process.
 * Threads:   one producer (reserve, commit, drained), one consumer (peek, release); init before.
 *            Runs and single messages may be mixed, on either side.
 * Ordering:  commit stores tail (release)  <->  peek loads tail (acquire)
 *            release stores head (release) <->  reserve and drained load head (acquire)
 *            Each side keeps a copy of the other's index and reloads it only when the copy says
 *            full (or empty): in a stream most calls touch no line that the other side writes.
 * Units:     indices run free (they wrap at 2^64) and are only compared by difference.
 * Errors:    none after init; full and empty are answers.
 * Test:      tests/unit/shm/test_ring.c
 */
#ifndef HR_SHM_RING_H
#define HR_SHM_RING_H

#include <stdbool.h>
#include <stddef.h>

#include "shm/atom.h"

/* What travels: who said what in which operation, and up to 48 bytes of it. Bulk data stays where
 * it is; the message says where (offsets into the segment). The meaning of `word` is the
 * protocol's. */
struct hr_message {
    uint64_t sequence;
    uint32_t kind;
    uint32_t from;
    uint64_t word[6];
};

_Static_assert(sizeof(struct hr_message) == 64, "a message is one cache line");

struct hr_ring {
    alignas(HR_LINE) struct hr_atom64 tail; /* writer: producer */
    uint64_t head_seen;                     /* the producer's copy of head */
    alignas(HR_LINE) struct hr_atom64 head; /* writer: consumer */
    uint64_t tail_seen;                     /* the consumer's copy of tail */
    alignas(HR_LINE) uint64_t mask;         /* slots - 1, constant */
    alignas(HR_LINE) struct hr_message slot[];
};

_Static_assert(offsetof(struct hr_ring, head) == HR_LINE, "one writer per line");
_Static_assert(offsetof(struct hr_ring, mask) == 2 * HR_LINE, "a constant is on neither's line");
_Static_assert(offsetof(struct hr_ring, slot) == 3 * HR_LINE, "slots begin on a line of their own");

/* Bytes of a ring with `slots` slots, a power of two. */
static inline size_t hr_ring_bytes(size_t slots)
{
    return sizeof(struct hr_ring) +
           (slots * sizeof(struct hr_message) + HR_LINE - 1) / HR_LINE * HR_LINE;
}

enum { HR_RING_AHEAD = 32 }; /* slots; by measurement */

static inline size_t hr_ring_least(uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t least = a < b ? a : b;
    return (size_t)(least < c ? least : c);
}

/* Make an empty ring whose indices start at `start` (0, but for tests of wrapping). */
void hr_ring_init(struct hr_ring *ring, size_t slots, uint64_t start);

/* A *run* is slots that lie one behind the other. It ends where the slots do, and is as long as the
 * copy of the other's index says: there may be more.
 *
 * A run of free slots, to be filled and committed in order: how many, 0 when the ring is full, at
 * most `most`; *slot is the first. Producer only. */
static inline size_t hr_ring_try_reserve_run_spsc(struct hr_ring *ring, size_t most,
                                                  struct hr_message **slot)
{
    const uint64_t tail = hr_atom64_load_relaxed(&ring->tail); /* our own word */
    uint64_t taken = tail - ring->head_seen;
    if (taken > ring->mask) {
        ring->head_seen = hr_atom64_load_acquire(&ring->head); /* partner: release */
        taken = tail - ring->head_seen;
    }
    *slot = &ring->slot[tail & ring->mask];
    return hr_ring_least(most, ring->mask + 1 - taken, ring->mask + 1 - (tail & ring->mask));
}

/* Hand the first n slots of the reserved run over. Producer only. */
static inline void hr_ring_commit_run_spsc(struct hr_ring *ring, size_t n)
{
    const uint64_t tail = hr_atom64_load_relaxed(&ring->tail);
    hr_atom64_store_release(&ring->tail, tail + n); /* partner: peek */
}

/* The next free slot, to be filled and committed; NULL when the ring is full. Asks for the line of
 * one that will be filled soon, and is free, which the consumer read last. Producer only. */
static inline struct hr_message *hr_ring_try_reserve_spsc(struct hr_ring *ring)
{
    struct hr_message *slot;
    if (!hr_ring_try_reserve_run_spsc(ring, 1, &slot))
        return NULL;
    const uint64_t soon = hr_atom64_load_relaxed(&ring->tail) + HR_RING_AHEAD;
    if (soon - ring->head_seen <= ring->mask)
        __builtin_prefetch(&ring->slot[soon & ring->mask], 1);
    return slot;
}

/* Hand the reserved slot over. Producer only. */
static inline void hr_ring_commit_spsc(struct hr_ring *ring)
{
    hr_ring_commit_run_spsc(ring, 1);
}

/* Has the consumer released everything? Producer only. True acknowledges all that was sent. */
static inline bool hr_ring_drained_spsc(struct hr_ring *ring)
{
    ring->head_seen = hr_atom64_load_acquire(&ring->head); /* partner: release */
    return ring->head_seen == hr_atom64_load_relaxed(&ring->tail);
}

/* How many messages were committed: a ticket for hr_ring_released_spsc. Producer only. */
static inline uint64_t hr_ring_committed_spsc(const struct hr_ring *ring)
{
    return hr_atom64_load_relaxed(&ring->tail); /* our own word */
}

/* The message that was committed last, released or not; NULL: none was. By the producer, or by who
 * knows that it is dead. */
static inline const struct hr_message *hr_ring_newest_spsc(const struct hr_ring *ring)
{
    const uint64_t tail = hr_atom64_load_relaxed(&ring->tail); /* our own word */
    return tail ? &ring->slot[(tail - 1) & ring->mask] : NULL;
}

/* Has the consumer released the first `ticket` messages? Producer only. */
static inline bool hr_ring_released_spsc(struct hr_ring *ring, uint64_t ticket)
{
    ring->head_seen = hr_atom64_load_acquire(&ring->head); /* partner: release */
    return (int64_t)(ring->head_seen - ticket) >= 0;
}

/* A run of the oldest messages, valid until released: how many, 0 when the ring is empty, at most
 * `most`; *message is the first. Consumer only. */
static inline size_t hr_ring_peek_run_spsc(struct hr_ring *ring, size_t most,
                                           const struct hr_message **message)
{
    const uint64_t head = hr_atom64_load_relaxed(&ring->head); /* our own word */
    if (head == ring->tail_seen)
        ring->tail_seen = hr_atom64_load_acquire(&ring->tail); /* partner: commit */
    *message = &ring->slot[head & ring->mask];
    return hr_ring_least(most, ring->tail_seen - head, ring->mask + 1 - (head & ring->mask));
}

/* Give the first n slots of the peeked run back. Consumer only. */
static inline void hr_ring_release_run_spsc(struct hr_ring *ring, size_t n)
{
    const uint64_t head = hr_atom64_load_relaxed(&ring->head);
    hr_atom64_store_release(&ring->head, head + n); /* partner: reserve, drained */
}

/* The oldest message, valid until released; NULL when the ring is empty. Consumer only. */
static inline const struct hr_message *hr_ring_peek_spsc(struct hr_ring *ring)
{
    const struct hr_message *message;
    return hr_ring_peek_run_spsc(ring, 1, &message) ? message : NULL;
}

/* Give the peeked slot back. Consumer only. */
static inline void hr_ring_release_spsc(struct hr_ring *ring)
{
    hr_ring_release_run_spsc(ring, 1);
}

/* How many messages were released: the number, from 0, of the oldest. Consumer only. */
static inline uint64_t hr_ring_taken_spsc(const struct hr_ring *ring)
{
    return hr_atom64_load_relaxed(&ring->head); /* our own word */
}

/* Message number `number`, from 0, which is not released; NULL: it has not been committed. Consumer
 * only: for one that releases later than it reads. */
static inline const struct hr_message *hr_ring_peek_at_spsc(const struct hr_ring *ring,
                                                            uint64_t number)
{
    const uint64_t tail = hr_atom64_load_acquire(&ring->tail); /* partner: commit */
    return (int64_t)(tail - number) > 0 ? &ring->slot[number & ring->mask] : NULL;
}

/* Drop all messages that are there. Consumer only. */
static inline void hr_ring_drop_spsc(struct hr_ring *ring)
{
    const struct hr_message *message;
    for (size_t n; (n = hr_ring_peek_run_spsc(ring, SIZE_MAX, &message)) != 0;)
        hr_ring_release_run_spsc(ring, n);
}

#endif
