/* Broadcast: everybody copies the root's buffer.
 *
 *   Cost     one buffer to each of n - 1 ranks, all at once, read from one place.
 *   Order    nothing is added.
 */
#include "group/plan.h"

static enum hr_status flat(struct hr_plan *plan, size_t rank, size_t n, size_t root)
{
    plan->nchunks = 1;
    if (rank != root)
        return hr_plan_add(plan, 0, HR_COPY, root, 0);
    for (size_t r = 0; r < n; r++)
        if (r != root)
            HR_TRY(hr_plan_add(plan, 0, HR_SEND, r, 0));
    return hr_plan_add(plan, 1, HR_DRAIN, root, 0);
}

const struct hr_algorithm hr_broadcast_flat = {
    .name = "flat",
    .order = "nothing is added",
    .plan = flat,
};
