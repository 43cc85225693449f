/* Ring all-reduce.
 *
 *   Words    n ranks in a circle, n chunks, dealt out by the flat index (plan.h); rank r sends to
 *            r + 1 and receives from r - 1 only.
 *   Story    reduce-scatter, n - 1 steps: in step s, rank r sends chunk r - s on, and adds the
 *            chunk r - s - 1 that it gets to its own. After them rank r holds chunk r + 1 complete.
 *            all-gather, n - 1 more steps s: rank r sends chunk r - s on, and copies r - s - 1.
 *   Cost     2 (n - 1) steps; each rank sends 2 (n - 1) / n S, nearly whatever n is.
 *   Order    chunk c is added in ring order, from rank c round to rank c - 1:
 *            ((x_c + x_{c+1}) + x_{c+2}) + ...; c = (flat index / HR_RUN_ELEMS) mod n.
 *   Safety   a chunk is overwritten (all-gather) only by a value that has travelled on from
 *            everybody who read its old one.
 *   Source   Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms", JPDC 69 (2009).
 */
#include "plan/plan.h"

/* Chunk `back` places behind rank's, in the direction of the ring. */
static size_t chunk_behind(const struct hr_circle *circle, const struct hr_plan_for *of,
                           size_t back)
{
    const size_t n = of->n, place = circle->reversed ? n - 1 - of->rank : of->rank;
    return circle->first_chunk + circle->stride * ((place + n - back % n) % n);
}

/* The rank `places` further along the circle. */
static size_t onward(const struct hr_circle *circle, const struct hr_plan_for *of, size_t places)
{
    return (of->rank + (circle->reversed ? of->n - places : places)) % of->n;
}

enum hr_status hr_ring_send(struct hr_plan *plan, const struct hr_plan_for *of,
                            const struct hr_circle *circle, size_t step)
{
    return hr_plan_send(plan, step, HR_OUT, onward(circle, of, 1), chunk_behind(circle, of, step));
}

enum hr_status hr_ring_receive(struct hr_plan *plan, const struct hr_plan_for *of,
                               const struct hr_circle *circle, size_t step)
{
    const enum hr_action action = step + 1 < of->n ? HR_ROW_ADD : HR_ROW_COPY;
    return hr_plan_receive(plan, step, action, onward(circle, of, of->n - 1),
                           chunk_behind(circle, of, step + 1));
}

static enum hr_status ring(struct hr_plan *plan, const struct hr_plan_for *of)
{
    const struct hr_circle circle = {.first_chunk = 0, .stride = 1};
    plan->nchunks = of->n;
    plan->run = HR_RUN_ELEMS;
    HR_TRY(hr_plan_take_all(plan, of));
    for (size_t step = 0; step + 2 < 2 * of->n; step++) {
        HR_TRY(hr_ring_send(plan, of, &circle, step));
        HR_TRY(hr_ring_receive(plan, of, &circle, step));
    }
    return HR_OK;
}

const struct hr_algorithm hr_allreduce_ring = {
    .name = "ring",
    .order = "ring order: chunk c from rank c round to rank c - 1",
    .plan = ring,
};
