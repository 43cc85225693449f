/* Broadcast: everybody copies the root's buffer.
 *
 *   Cost     1 step, (n - 1) S, all at once, read from one place.
 *   Order    nothing is added.
 */
#include "plan/plan.h"

enum hr_status hr_plan_broadcast(struct hr_plan *plan, const struct hr_plan_for *of)
{
    plan->nchunks = 1;
    if (of->rank != of->root)
        return hr_plan_receive(plan, 0, HR_ROW_COPY, of->root, 0);
    for (size_t hop = 1; hop < of->n; hop++)
        HR_TRY(hr_plan_send(plan, 0, HR_OUT, (of->root + hop) % of->n, 0));
    return HR_OK;
}
