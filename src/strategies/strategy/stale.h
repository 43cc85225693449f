/* stale.h - a worker's histogram of how stale its updates were, right wherever the worker dies.
 *
 *   Before it counts an update the worker writes down what the counters were. So one that was being
 *   counted when it died, or was counted and never made, can be taken back.
 *
 * Threads: the worker's own; after its death the launcher's, or that of its next life.
 * Test:    tests/unit/strategy/test_stale.c
 */
#ifndef HR_STRATEGY_STALE_H
#define HR_STRATEGY_STALE_H

#include <stdint.h>

#include "shm/atom.h"

enum { HR_STALENESS_BUCKETS = 4096 }; /* four times the workers that there may be */

struct hr_stale {
    uint64_t updates, sum, max;
    /* Before the last count: */
    struct hr_atom32 counting; /* not 0: it is under way; partner: hr_stale_mend */
    struct hr_stale_before {
        uint64_t updates, sum, max, bucket, in_bucket;
    } before;
    uint64_t bucket[HR_STALENESS_BUCKETS]; /* how many updates; the last holds all above */
};

void hr_stale_count(struct hr_stale *stale, uint64_t staleness);
/* The last count is taken back; once. */
void hr_stale_take_back(struct hr_stale *stale);
/* The worker is dead: what it was just counting is not counted. */
void hr_stale_mend(struct hr_stale *stale);
/* The same counts. As far as either has any: to is not cleared before. */
void hr_stale_copy(struct hr_stale *to, const struct hr_stale *from);

#endif
