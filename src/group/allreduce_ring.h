/* allreduce_ring.h - one step around a circle, for the algorithms that are made of rings. */
#ifndef HR_GROUP_ALLREDUCE_RING_H
#define HR_GROUP_ALLREDUCE_RING_H

#include "group/plan.h"

struct hr_circle {
    size_t first_chunk; /* its n chunks are [first_chunk, first_chunk + n) */
    bool reversed;      /* from rank r to r - 1 instead of r + 1 */
};

/* Append step `step`, of 2 (n - 1), of rank of->rank: a send and an add or a copy. */
HR_CHECKED enum hr_status hr_ring_step(struct hr_plan *plan, const struct hr_plan_for *of,
                                       const struct hr_circle *circle, size_t step);

#endif
