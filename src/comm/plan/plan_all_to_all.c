/* All-to-all: block q of rank r becomes block r of rank q.
 *
 *   Words    chunk c is block c; what is sent as chunk q arrives as chunk r.
 *   Cost     1 step; each rank sends n - 1 blocks.
 *   Order    nothing is added.
 *   Safety   in place, blocks arrive in scratch until nobody reads the input any more.
 */
#include "plan/plan.h"

enum hr_status hr_plan_all_to_all(struct hr_plan *plan, const struct hr_plan_for *of)
{
    const size_t n = of->n, rank = of->rank;
    const enum hr_buffer arrival = of->in_place ? HR_SCRATCH : HR_OUT;
    plan->nchunks = n;
    for (size_t hop = 1; hop < n; hop++)
        HR_TRY(hr_plan_send(plan, 0, HR_IN, (rank + hop) % n, (rank + hop) % n));
    if (!of->in_place)
        HR_TRY(hr_plan_local(plan, 0, HR_ROW_TAKE, HR_IN, rank));
    for (size_t hop = 1; hop < n; hop++) {
        const size_t peer = (rank + n - hop) % n;
        HR_TRY(hr_plan_add(plan, (struct hr_row){.peer = (uint16_t)peer,
                                                 .chunk = (uint16_t)peer,
                                                 .span = 1,
                                                 .action = HR_ROW_COPY,
                                                 .buffer = (uint8_t)arrival}));
    }
    if (!of->in_place)
        return HR_OK;
    HR_TRY(hr_plan_local(plan, 0, HR_ROW_DRAIN, HR_OUT, 0));
    for (size_t hop = 1; hop < n; hop++)
        HR_TRY(hr_plan_local(plan, 0, HR_ROW_TAKE, HR_SCRATCH, (rank + hop) % n));
    return HR_OK;
}
