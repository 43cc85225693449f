/* One-shot all-reduce: everybody reads everybody's buffer, and sums for itself.
 *
 *   Story    0. everybody lets everybody have its buffer, and sums all n
 *   Cost     1 step; each rank sends (n - 1) S: the fewest waits and the most bytes, for small
 *            buffers only. group/posts.h is the fast form of it.
 *   Order    T(n), leaves in rank order: so all ranks, and direct, have the same bits.
 *   Safety   in place, the sum goes to scratch until nobody reads the input any more.
 */
#include "plan/plan.h"

static enum hr_status one_shot(struct hr_plan *plan, const struct hr_plan_for *of)
{
    const size_t n = of->n, rank = of->rank;
    plan->nchunks = 1;
    for (size_t hop = 1; hop < n; hop++)
        HR_TRY(hr_plan_send(plan, 0, HR_IN, (rank + hop) % n, 0));
    for (size_t hop = 1; hop < n; hop++)
        HR_TRY(hr_plan_receive(plan, 0, HR_ROW_RECV, (rank + n - hop) % n, 0));
    if (!of->in_place)
        return hr_plan_local(plan, 0, HR_ROW_SUM, HR_OUT, 0);
    HR_TRY(hr_plan_local(plan, 0, HR_ROW_SUM, HR_SCRATCH, 0));
    HR_TRY(hr_plan_local(plan, 0, HR_ROW_DRAIN, HR_OUT, 0));
    return hr_plan_local(plan, 0, HR_ROW_TAKE, HR_SCRATCH, 0);
}

const struct hr_algorithm hr_allreduce_one_shot = {
    .name = "one-shot",
    .order = "T(n), leaves in rank order",
    .plan = one_shot,
    .tree_order = true,
};
