/* Bidirectional ring all-reduce: two rings in opposite directions, each with half of the data.
 *
 *   Words    2 n chunks, dealt out by the flat index (plan.h): those with even numbers go round
 *            from rank r to r + 1, the others from r to r - 1.
 *   Story    as in allreduce_ring.c, both rings in each step: both sends before either wait.
 *   Cost     2 (n - 1) steps, 2 (n - 1) / n S a rank, half of it each way: where links work in
 *            both directions at once, half the time of the ring.
 *   Order    ring order, chunk 2 c from rank c up; chunk 2 c + 1 from rank n - 1 - c down.
 */
#include "plan/plan.h"

static enum hr_status bidirectional_ring(struct hr_plan *plan, const struct hr_plan_for *of)
{
    const struct hr_circle onward = {.first_chunk = 0, .stride = 2};
    const struct hr_circle backward = {.first_chunk = 1, .stride = 2, .reversed = true};
    plan->nchunks = 2 * of->n;
    plan->run = HR_RUN_ELEMS;
    HR_TRY(hr_plan_take_all(plan, of));
    for (size_t step = 0; step + 2 < 2 * of->n; step++) {
        HR_TRY(hr_ring_send(plan, of, &onward, step));
        HR_TRY(hr_ring_send(plan, of, &backward, step));
        HR_TRY(hr_ring_receive(plan, of, &onward, step));
        HR_TRY(hr_ring_receive(plan, of, &backward, step));
    }
    return HR_OK;
}

const struct hr_algorithm hr_allreduce_bidirectional_ring = {
    .name = "bidirectional-ring",
    .order = "ring order, every other chunk in the opposite direction",
    .plan = bidirectional_ring,
};
