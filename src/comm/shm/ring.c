#include "shm/ring.h"

#include "base/error.h"

void hr_ring_init(struct hr_ring *ring, size_t slots, uint64_t start)
{
    HR_ASSERT(slots && (slots & (slots - 1)) == 0);
    HR_ASSERT((uintptr_t)ring % HR_LINE == 0);
    hr_atom64_store_relaxed(&ring->tail, start);
    hr_atom64_store_relaxed(&ring->head, start);
    ring->head_seen = ring->tail_seen = start;
    ring->mask = slots - 1;
}
