/* Master-worker all-reduce: everything to one rank and back.
 *
 *   Story    1. every worker tells the master that its buffer is ready
 *            2. the master sums them all into its own
 *            3. every worker copies the master's
 *   Cost     (n - 1) buffers each way, all of it through the master: O(n), the bottleneck that ring
 *            and direct avoid. It is here to be compared with.
 *   Order    T(n), leaves in rank order whatever the root, so the bits are direct's.
 */
#include "group/plan.h"

static enum hr_status master(struct hr_plan *plan, size_t root, size_t n)
{
    for (size_t r = 0; r < n; r++)
        if (r != root)
            HR_TRY(hr_plan_add(plan, 0, HR_RECV, r, 0));
    HR_TRY(hr_plan_add(plan, 1, HR_SUM, root, 0));
    for (size_t r = 0; r < n; r++)
        if (r != root)
            HR_TRY(hr_plan_add(plan, 2, HR_SEND, r, 0));
    return hr_plan_add(plan, 3, HR_DRAIN, root, 0);
}

static enum hr_status master_worker(struct hr_plan *plan, size_t rank, size_t n, size_t root)
{
    plan->nchunks = 1;
    if (rank == root)
        return master(plan, root, n);
    HR_TRY(hr_plan_add(plan, 0, HR_SEND, root, 0));
    return hr_plan_add(plan, 2, HR_COPY, root, 0);
}

const struct hr_algorithm hr_allreduce_master_worker = {
    .name = "master-worker",
    .order = "T(n), leaves in rank order",
    .plan = master_worker,
};
