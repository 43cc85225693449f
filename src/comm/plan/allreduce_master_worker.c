/* Master-worker all-reduce: everything to one rank and back.
 *
 *   Story    0. every worker lets the master have its buffer; the master sums them all
 *            1. the master lets every worker have the sum
 *   Cost     2 steps, (n - 1) S each way, all of it through the master: O(n), the bottleneck that
 *            ring and direct avoid. It is here to be compared with.
 *   Order    T(n), leaves in rank order whatever the root, so the bits are direct's.
 */
#include "plan/plan.h"

static enum hr_status master(struct hr_plan *plan, const struct hr_plan_for *of)
{
    for (size_t r = 0; r < of->n; r++)
        if (r != of->root)
            HR_TRY(hr_plan_receive(plan, 0, HR_ROW_RECV, r, 0));
    HR_TRY(hr_plan_local(plan, 0, HR_ROW_SUM, HR_OUT, 0));
    for (size_t r = 0; r < of->n; r++)
        if (r != of->root)
            HR_TRY(hr_plan_send(plan, 1, HR_OUT, r, 0));
    return HR_OK;
}

static enum hr_status master_worker(struct hr_plan *plan, const struct hr_plan_for *of)
{
    plan->nchunks = 1;
    if (of->rank == of->root)
        return master(plan, of);
    HR_TRY(hr_plan_send(plan, 0, HR_IN, of->root, 0));
    return hr_plan_receive(plan, 1, HR_ROW_COPY, of->root, 0);
}

const struct hr_algorithm hr_allreduce_master_worker = {
    .name = "master-worker",
    .order = "T(n), leaves in rank order",
    .plan = master_worker,
    .tree_order = true,
};
