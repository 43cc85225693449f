/* Ring all-reduce.
 *
 *   Words    n ranks in a circle, n chunks; rank r sends to r + 1 and receives from r - 1 only.
 *   Story    reduce-scatter, n - 1 steps: in step s, rank r sends chunk r - s on, and adds the
 *            chunk r - s - 1 that it gets to its own. After them rank r holds chunk r + 1 complete.
 *            all-gather, n - 1 steps: in step s, rank r sends chunk r + 1 - s on and copies r - s.
 *   Cost     2 (n - 1) steps; each rank sends 2 (n - 1) / n of the buffer, nearly whatever n is.
 *   Order    chunk c is added in ring order, from rank c round to rank c - 1:
 *            ((x_c + x_{c+1}) + x_{c+2}) + ...; the chunk follows from the index alone.
 *   Safety   a chunk is overwritten (all-gather) only by a value that has travelled on from
 *            everybody who read its old one; drain at the end waits for the reader of the last.
 *   Source   Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms", JPDC 69 (2009).
 */
#include "group/plan.h"

static size_t around(size_t rank, size_t back, size_t n)
{
    return (rank + n - back % n) % n;
}

static enum hr_status ring(struct hr_plan *plan, size_t rank, size_t n, size_t root)
{
    (void)root;
    const size_t next = (rank + 1) % n, previous = around(rank, 1, n);
    plan->nchunks = n;
    for (size_t s = 0; s + 1 < n; s++) {
        HR_TRY(hr_plan_add(plan, s, HR_SEND, next, around(rank, s, n)));
        HR_TRY(hr_plan_add(plan, s, HR_ADD, previous, around(rank, s + 1, n)));
    }
    for (size_t s = 0; s + 1 < n; s++) {
        HR_TRY(hr_plan_add(plan, n - 1 + s, HR_SEND, next, around(rank + 1, s, n)));
        HR_TRY(hr_plan_add(plan, n - 1 + s, HR_COPY, previous, around(rank, s, n)));
    }
    return hr_plan_add(plan, 2 * (n - 1), HR_DRAIN, rank, 0);
}

const struct hr_algorithm hr_allreduce_ring = {
    .name = "ring",
    .order = "ring order: chunk c from rank c round to rank c - 1",
    .plan = ring,
};
