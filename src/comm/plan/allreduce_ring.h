/* allreduce_ring.h - one step around a circle, for the algorithms that are made of rings. */
#ifndef HR_PLAN_ALLREDUCE_RING_H
#define HR_PLAN_ALLREDUCE_RING_H

#include "plan/plan.h"

struct hr_circle {
    size_t first_chunk, stride; /* its n chunks are first_chunk + i * stride */
    bool reversed;              /* from rank r to r - 1 instead of r + 1 */
};

/* Append what rank of->rank does in step `step`, of 2 (n - 1): a send; then an add or a copy. An
 * algorithm of two circles sends on both before it waits on either. */
HR_CHECKED enum hr_status hr_ring_send(struct hr_plan *plan, const struct hr_plan_for *of,
                                       const struct hr_circle *circle, size_t step);
HR_CHECKED enum hr_status hr_ring_receive(struct hr_plan *plan, const struct hr_plan_for *of,
                                          const struct hr_circle *circle, size_t step);

#endif
