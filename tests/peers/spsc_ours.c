#include "spsc_ours.h"

#include <stdlib.h>

#include "shm/ring.h"

enum { RUN = 32 };

void *ours_create(size_t slots)
{
    struct hr_ring *ring = aligned_alloc(HR_LINE, hr_ring_bytes(slots));
    if (!ring)
        abort();
    hr_ring_init(ring, slots, 0);
    return ring;
}

void ours_destroy(void *ring)
{
    free(ring);
}

static inline void fill(struct hr_message *message, uint64_t value, int words)
{
    message->sequence = value;
    if (words == 1)
        return;
    message->kind = (uint32_t)value;
    message->from = (uint32_t)(value >> 32);
    for (int w = 0; w < 6; w++)
        message->word[w] = value;
}

static inline uint64_t sum_of(const struct hr_message *message, int words)
{
    uint64_t sum = message->sequence;
    if (words == 1)
        return sum;
    sum += message->kind + ((uint64_t)message->from << 32);
    for (int w = 0; w < 6; w++)
        sum += message->word[w];
    return sum;
}

static inline void put(struct hr_ring *ring, uint64_t value, int words)
{
    struct hr_message *message;
    while (!(message = hr_ring_try_reserve_spsc(ring)))
        ;
    fill(message, value, words);
    hr_ring_commit_spsc(ring);
}

static inline uint64_t take(struct hr_ring *ring, int words)
{
    const struct hr_message *message;
    while (!(message = hr_ring_peek_spsc(ring)))
        ;
    const uint64_t sum = sum_of(message, words);
    hr_ring_release_spsc(ring);
    return sum;
}

void ours_produce(void *ring, uint64_t n, int words)
{
    if (words == 8)
        for (uint64_t i = 0; i < n; i++)
            put(ring, i, 8);
    else
        for (uint64_t i = 0; i < n; i++)
            put(ring, i, 1);
}

uint64_t ours_consume(void *ring, uint64_t n, int words)
{
    uint64_t sum = 0;
    if (words == 8)
        for (uint64_t i = 0; i < n; i++)
            sum += take(ring, 8);
    else
        for (uint64_t i = 0; i < n; i++)
            sum += take(ring, 1);
    return sum;
}

void ours_produce_runs(void *at, uint64_t n, int words)
{
    struct hr_ring *ring = at;
    for (uint64_t i = 0; i < n;) {
        struct hr_message *slot;
        const size_t run = hr_ring_try_reserve_run_spsc(ring, n - i < RUN ? n - i : RUN, &slot);
        for (size_t k = 0; k < run; k++)
            fill(&slot[k], i + k, words);
        if (run)
            hr_ring_commit_run_spsc(ring, run);
        i += run;
    }
}

uint64_t ours_consume_runs(void *at, uint64_t n, int words)
{
    struct hr_ring *ring = at;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n;) {
        const struct hr_message *message;
        const size_t run = hr_ring_peek_run_spsc(ring, RUN, &message);
        for (size_t k = 0; k < run; k++)
            sum += sum_of(&message[k], words);
        if (run)
            hr_ring_release_run_spsc(ring, run);
        i += run;
    }
    return sum;
}

void ours_ping(void *there, void *back, uint64_t n, int words)
{
    for (uint64_t i = 0; i < n; i++) {
        put(there, i, words);
        (void)take(back, words);
    }
}

void ours_echo(void *there, void *back, uint64_t n, int words)
{
    for (uint64_t i = 0; i < n; i++) {
        (void)take(there, words);
        put(back, i, words);
    }
}
