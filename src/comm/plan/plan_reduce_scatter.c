/* Reduce-scatter: the owner of each block sums everybody's part of it.
 *
 *   Words    chunk r is block r.
 *   Cost     1 step; each rank sends n - 1 blocks.
 *   Order    T(n), leaves in rank order.
 */
#include "plan/plan.h"

enum hr_status hr_plan_reduce_scatter(struct hr_plan *plan, const struct hr_plan_for *of)
{
    const size_t n = of->n, rank = of->rank;
    plan->nchunks = n;
    for (size_t hop = 1; hop < n; hop++)
        HR_TRY(hr_plan_send(plan, 0, HR_IN, (rank + hop) % n, (rank + hop) % n));
    for (size_t hop = 1; hop < n; hop++)
        HR_TRY(hr_plan_receive(plan, 0, HR_ROW_RECV, (rank + n - hop) % n, rank));
    return hr_plan_local(plan, 0, HR_ROW_SUM, HR_OUT, rank);
}
