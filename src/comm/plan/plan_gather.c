/* Gather and all-gather: everybody's block in one buffer, the root's or everybody's.
 *
 *   Words    chunk r is block r.
 *   Cost     1 step; each rank sends its block once, or n - 1 times.
 *   Order    nothing is added.
 */
#include "plan/plan.h"

static enum hr_status take_own(struct hr_plan *plan, const struct hr_plan_for *of)
{
    return of->in_place ? HR_OK : hr_plan_local(plan, 0, HR_ROW_TAKE, HR_IN, of->rank);
}

enum hr_status hr_plan_gather(struct hr_plan *plan, const struct hr_plan_for *of)
{
    plan->nchunks = of->n;
    if (of->rank != of->root)
        return hr_plan_send(plan, 0, HR_IN, of->root, of->rank);
    HR_TRY(take_own(plan, of));
    for (size_t hop = 1; hop < of->n; hop++) {
        const size_t peer = (of->root + hop) % of->n;
        HR_TRY(hr_plan_receive(plan, 0, HR_ROW_COPY, peer, peer));
    }
    return HR_OK;
}

enum hr_status hr_plan_all_gather(struct hr_plan *plan, const struct hr_plan_for *of)
{
    const size_t n = of->n, rank = of->rank;
    plan->nchunks = n;
    for (size_t hop = 1; hop < n; hop++)
        HR_TRY(hr_plan_send(plan, 0, HR_IN, (rank + hop) % n, rank));
    HR_TRY(take_own(plan, of));
    for (size_t hop = 1; hop < n; hop++)
        HR_TRY(hr_plan_receive(plan, 0, HR_ROW_COPY, (rank + n - hop) % n, (rank + n - hop) % n));
    return HR_OK;
}
