/* Direct all-reduce: every rank owns a chunk.
 *
 *   Words    n ranks, n chunks; rank r owns chunk r.
 *   Story    0. everybody lets the owner of each chunk have its part of it
 *            1. the owner sums the n parts, and lets everybody have the sum
 *   Cost     2 steps; each rank sends 2 (n - 1) / n S. Between ranks that share their arenas
 *            nothing is copied in or out: the owner loads the n inputs and stores the sum to the n
 *            outputs (group/posts.h), 2 S loaded and stored a rank, the least that any
 *            all-reduce of n private results can move.
 *   Order    T(n), leaves in rank order (base/vec.h), the same for every chunk.
 */
#include "plan/plan.h"

static enum hr_status direct(struct hr_plan *plan, const struct hr_plan_for *of)
{
    const size_t n = of->n, rank = of->rank;
    plan->nchunks = n;
    for (size_t hop = 1; hop < n; hop++)
        HR_TRY(hr_plan_send(plan, 0, HR_IN, (rank + hop) % n, (rank + hop) % n));
    for (size_t hop = 1; hop < n; hop++)
        HR_TRY(hr_plan_receive(plan, 0, HR_ROW_RECV, (rank + n - hop) % n, rank));
    HR_TRY(hr_plan_local(plan, 0, HR_ROW_SUM, HR_OUT, rank));
    for (size_t hop = 1; hop < n; hop++)
        HR_TRY(hr_plan_send(plan, 1, HR_OUT, (rank + hop) % n, rank));
    for (size_t hop = 1; hop < n; hop++)
        HR_TRY(hr_plan_receive(plan, 1, HR_ROW_COPY, (rank + n - hop) % n, (rank + n - hop) % n));
    return HR_OK;
}

const struct hr_algorithm hr_allreduce_direct = {
    .name = "direct",
    .order = "T(n), leaves in rank order",
    .plan = direct,
    .tree_order = true,
};
