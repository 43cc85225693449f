/* flight.h - flight recorder: the last 64 operations of a rank, to be read from anywhere, any time.
 *
 *   [ head line | entry 0 | ... | entry 63 ]        operation n stands in entry n mod 64
 *
 * What a rank was doing when it hung or died can be read by another process, while it runs and
 * afterwards. Recording costs a few stores: no read-modify-write, no fence, no clock of its own.
 *
 * Threads:  one writer, the rank; any number of readers, which it never waits for. The writer may
 *           be killed anywhere: readers see an operation whole, or not at all.
 * Ordering: as a seqlock, for each entry. begin takes the number away (relaxed), stores the words
 *           (release) and the number (release), then the count (release). A reader acquires count,
 *           number and words, and looks at the number again: whoever has read a word of the next
 *           operation sees that the number is no longer the one it came for. Numbers never come
 *           back.
 * Memory:   zeroed memory is an empty recorder.
 * Test:     tests/unit/shm/test_flight.c
 */
#ifndef HR_SHM_FLIGHT_H
#define HR_SHM_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>

#include "shm/atom.h"

enum { HR_FLIGHT_ENTRIES = 64 };

struct hr_flight_slot {
    alignas(64) struct hr_atom64 number; /* of the operation that stands here, from 1; 0: none */
    struct hr_atom64 sequence, kind_group, count, start_ns, end_ns;
};

struct hr_flight {
    alignas(HR_LINE) struct hr_atom64 begun; /* operations begun so far */
    alignas(HR_LINE) struct hr_flight_slot slot[HR_FLIGHT_ENTRIES];
};

/* One operation, as read. */
struct hr_flight_entry {
    uint64_t number;      /* of this rank's operations, from 1 */
    uint64_t sequence;    /* in its group */
    uint32_t kind, group; /* what the caller calls so */
    uint64_t count;       /* elements */
    int64_t start_ns;     /* as the caller gave it */
    int64_t end_ns;       /* 0: not finished */
};

/* An operation begins. `now` is a time that the caller has at hand: recording takes 2 ns, a look at
 * hr_clock_ns some 25, at hr_clock_coarse_ns (4 ms too old at most) 5. By the writer. */
static inline void hr_flight_begin(struct hr_flight *flight, uint64_t sequence, uint32_t kind,
                                   uint32_t group, uint64_t count, int64_t now)
{
    /* Relaxed: nobody else writes it. Partner of all stores: hr_flight_read. */
    const uint64_t number = hr_atom64_load_relaxed(&flight->begun) + 1;
    struct hr_flight_slot *slot = &flight->slot[number % HR_FLIGHT_ENTRIES];
    hr_atom64_store_relaxed(&slot->number, 0);
    hr_atom64_store_release(&slot->sequence, sequence);
    hr_atom64_store_release(&slot->kind_group, (uint64_t)group << 32 | kind);
    hr_atom64_store_release(&slot->count, count);
    hr_atom64_store_release(&slot->start_ns, (uint64_t)now);
    hr_atom64_store_release(&slot->end_ns, 0);
    hr_atom64_store_release(&slot->number, number);
    hr_atom64_store_release(&flight->begun, number);
}

/* The operation that began last is finished; `now` is not 0. By the writer. */
static inline void hr_flight_end(struct hr_flight *flight, int64_t now)
{
    const uint64_t number = hr_atom64_load_relaxed(&flight->begun); /* our own */
    /* Partner: hr_flight_read. Release: what the operation did is seen by who sees its end. */
    hr_atom64_store_release(&flight->slot[number % HR_FLIGHT_ENTRIES].end_ns, (uint64_t)now);
}

/* Read the `back`-th last operation, 0 being the last. False when there is none, or when the writer
 * has overwritten it. Any thread or process, any time. */
bool hr_flight_read(const struct hr_flight *flight, size_t back, struct hr_flight_entry *entry);

#endif
