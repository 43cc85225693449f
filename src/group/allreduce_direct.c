/* Direct all-reduce: every rank owns a stripe, and the arenas are shared.
 *
 *   Words    n ranks, n chunks (stripes); rank r owns stripe r.
 *   Story    1. everybody tells everybody that its buffer is ready
 *            2. the owner of stripe j loads the n inputs and stores the sum to the n outputs
 *            3. everybody tells everybody that its stripe is final
 *   Cost     2 waits; each rank loads and stores 2 S in all (S bytes a rank): nothing is copied in
 *            or out, which is the least that any all-reduce of n private results can move.
 *   Order    T(n), leaves in rank order (base/vec.h), the same for every stripe.
 *   Fast     meeting.c does the same over arrival counters, with stripes cut into blocks that
 *            whoever is running claims; the order of addition does not depend on who adds.
 */
#include "group/plan.h"

static enum hr_status with_all_others(struct hr_plan *plan, size_t step, enum hr_action action,
                                      size_t rank, size_t n, size_t own_chunk)
{
    for (size_t hop = 1; hop < n; hop++) {
        const size_t peer = (rank + hop) % n;
        HR_TRY(hr_plan_add(plan, step, action, peer, own_chunk < n ? own_chunk : peer));
    }
    return HR_OK;
}

static enum hr_status direct(struct hr_plan *plan, size_t rank, size_t n, size_t root)
{
    const size_t the_peers = n;
    (void)root;
    plan->nchunks = n;
    HR_TRY(with_all_others(plan, 0, HR_SEND, rank, n, the_peers));
    HR_TRY(with_all_others(plan, 0, HR_RECV, rank, n, rank));
    HR_TRY(hr_plan_add(plan, 1, HR_SHARE, rank, rank));
    HR_TRY(with_all_others(plan, 2, HR_SEND, rank, n, rank));
    return with_all_others(plan, 2, HR_RECV, rank, n, the_peers);
}

const struct hr_algorithm hr_allreduce_direct = {
    .name = "direct",
    .order = "T(n), leaves in rank order",
    .plan = direct,
    .meets = 1,
};
