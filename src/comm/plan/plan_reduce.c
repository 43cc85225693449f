/* Reduce: the root sums everybody's buffer.
 *
 *   Cost     1 step, (n - 1) S, all of it to the root.
 *   Order    T(n), leaves in rank order whatever the root.
 */
#include "plan/plan.h"

enum hr_status hr_plan_reduce(struct hr_plan *plan, const struct hr_plan_for *of)
{
    plan->nchunks = 1;
    if (of->rank != of->root)
        return hr_plan_send(plan, 0, HR_IN, of->root, 0);
    for (size_t hop = 1; hop < of->n; hop++)
        HR_TRY(hr_plan_receive(plan, 0, HR_ROW_RECV, (of->root + hop) % of->n, 0));
    return hr_plan_local(plan, 0, HR_ROW_SUM, HR_OUT, 0);
}
