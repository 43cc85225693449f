/* Scatter: everybody copies its block of the root's buffer.
 *
 *   Words    chunk r is block r.
 *   Cost     1 step; the root sends n - 1 blocks.
 *   Order    nothing is added.
 */
#include "plan/plan.h"

enum hr_status hr_plan_scatter(struct hr_plan *plan, const struct hr_plan_for *of)
{
    plan->nchunks = of->n;
    if (of->rank != of->root)
        return hr_plan_receive(plan, 0, HR_ROW_COPY, of->root, of->rank);
    for (size_t hop = 1; hop < of->n; hop++) {
        const size_t peer = (of->root + hop) % of->n;
        HR_TRY(hr_plan_send(plan, 0, HR_IN, peer, peer));
    }
    return of->in_place ? HR_OK : hr_plan_local(plan, 0, HR_ROW_TAKE, HR_IN, of->root);
}
