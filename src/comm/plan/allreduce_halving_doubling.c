/* Halving-doubling all-reduce (Rabenseifner).
 *
 *   Words    p is the largest power of two up to n; rank r of the n - p last ones is the guest of
 *            rank r - p; p chunks; depth is log2 p.
 *   Story    0. every guest sends its buffer to its host, which adds it; no guests, no such step
 *            1. reduce-scatter, depth steps: in step l, host r and r xor 2^l cut the part that
 *               both still have in halves; each sends one and adds the other. The host with
 *               the lower number keeps the lower half.
 *            2. all-gather, depth steps: the same the other way, copying
 *            3. every guest gets the result from its host
 *   Cost     2 depth steps and 2 (p - 1) / p S a host; with guests 2 more steps of S.
 *   Order    distances double, so T(n) where n is a power of two. Elsewhere x_r + x_{r+p} are
 *            the leaves of T(p).
 *   Safety   what a rank sent in a step comes back as the result from the same peer.
 *   Source   Thakur, Rabenseifner and Gropp, IJHPCA 19 (2005).
 */
#include "plan/plan.h"

/* The part of the chunks that rank holds after `level` steps, of `p`. */
static struct hr_row part_at(size_t rank, size_t p, size_t level)
{
    size_t first = 0, span = p;
    for (size_t l = 0; l < level; l++) {
        span /= 2;
        first += rank >> l & 1 ? span : 0;
    }
    return (struct hr_row){.chunk = (uint16_t)first, .span = (uint16_t)span, .buffer = HR_OUT};
}

static enum hr_status exchange(struct hr_plan *plan, size_t peer, size_t step, struct hr_row send,
                               struct hr_row receive, enum hr_action action)
{
    send.peer = receive.peer = (uint16_t)peer;
    send.step = receive.step = (uint16_t)step;
    send.action = HR_ROW_SEND;
    receive.action = (uint8_t)action;
    HR_TRY(hr_plan_add(plan, send));
    return hr_plan_add(plan, receive);
}

/* From step `first` on. */
static enum hr_status among_hosts(struct hr_plan *plan, size_t rank, size_t p, size_t first)
{
    const size_t depth = hr_tree_depth(p);
    for (size_t level = 0; level < depth; level++) {
        const size_t peer = rank ^ (size_t)1 << level;
        HR_TRY(exchange(plan, peer, first + level, part_at(peer, p, level + 1),
                        part_at(rank, p, level + 1), HR_ROW_ADD));
    }
    for (size_t level = depth; level-- > 0;) {
        const size_t peer = rank ^ (size_t)1 << level;
        HR_TRY(exchange(plan, peer, first + 2 * depth - 1 - level, part_at(rank, p, level + 1),
                        part_at(peer, p, level + 1), HR_ROW_COPY));
    }
    return HR_OK;
}

static enum hr_status halving_doubling(struct hr_plan *plan, const struct hr_plan_for *of)
{
    size_t p = 1;
    while (2 * p <= of->n)
        p *= 2;
    const size_t first = of->n > p ? 1 : 0, last = 2 * hr_tree_depth(p) + 1;
    const struct hr_tree guests = {.stride = p, .first = of->rank % p, .n = 2};
    const bool paired = of->rank % p + p < of->n;
    /* Host and guest are a tree of two, over all chunks at once. */
    plan->nchunks = p;
    HR_TRY(hr_plan_take_all(plan, of));
    const size_t before = plan->nrows;
    if (paired)
        HR_TRY(hr_tree_reduce(plan, &guests, of->rank / p, 0, 0));
    if (of->rank < p)
        HR_TRY(among_hosts(plan, of->rank, p, first));
    if (paired)
        HR_TRY(hr_tree_broadcast(plan, &guests, of->rank / p, 0, last));
    if (paired)
        plan->rows[before].span = plan->rows[plan->nrows - 1].span = (uint16_t)p;
    return HR_OK;
}

const struct hr_algorithm hr_allreduce_halving_doubling = {
    .name = "halving-doubling",
    .order = "T(n) where n is a power of two, else T(p) over x_r + x_(r+p)",
    .plan = halving_doubling,
    .tree_order = true,
};
