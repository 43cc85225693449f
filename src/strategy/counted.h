/* counted.h - what workers have counted, where a machine may be lost with their counters.
 *
 *   Story   before a worker hands in the gradient of batch k it says what its counters have come
 *           to. That goes to other machines with the gradient (machines/carrier.h, Words): whoever
 *           has a sum of k knows what all who are in it had counted. When a machine is lost, and
 *           others have all of batch k - 1, its workers have counted what they said of that.
 *   Room    of three batches: when others are at k, one may have said k + 1, but no more, since the
 *           sum of k + 1 needs all.
 *
 * Threads: a worker's line is its worker's; it is read while all rest.
 * Test:    tests/unit/strategy/test_counted.c
 */
#ifndef HR_STRATEGY_COUNTED_H
#define HR_STRATEGY_COUNTED_H

#include "strategy/shared_state.h"

enum { HR_COUNTED_BATCHES = 3, HR_COUNTED_WORDS = 5 };

struct hr_counted {
    /* Of each: 1 + the batch, written last and read first; steps, samples, those of the epoch, and
     * the bits of its loss. */
    alignas(HR_LINE) struct hr_atom64 said[HR_COUNTED_BATCHES][HR_COUNTED_WORDS];
};

enum { HR_COUNTED_BYTES = HR_COUNTED_BATCHES * HR_COUNTED_WORDS * 8 };

/* The worker is about to hand in its gradient of batch `index`; nothing where shared->counted is
 * NULL. */
void hr_counted_say(const struct hr_shared_state *shared, size_t worker, uint64_t index);

/* The worker is gone with its counters: they become what it has said of batch `index`. False: it
 * has said nothing of that. */
bool hr_counted_restore(const struct hr_shared_state *shared, size_t worker, uint64_t index);

#endif
