/* Tree all-reduce: up a binomial tree to rank 0, and down again.
 *
 *   Words    level l of the tree joins ranks that differ by 2^l; depth is log2 n, rounded up.
 *   Story    reduce: in step l, every rank r with r mod 2^(l+1) = 2^l sends its sum to r - 2^l, and
 *            is done; the other adds it to its own. broadcast: the same edges the other way, from
 *            the highest level down.
 *   Cost     2 depth steps; a rank sends at most depth S (rank 0, down), all of them 2 (n - 1) S.
 *            Latency grows with log2 n instead of n.
 *   Order    T(n): rank r adds the sum of [r + 2^l, r + 2^(l+1)) to that of [r, r + 2^l).
 *   Safety   a rank's buffer is overwritten by what its parent made of the one before.
 */
#include "plan/plan.h"

size_t hr_tree_depth(size_t n)
{
    size_t depth = 0;
    while ((size_t)1 << depth < n)
        depth++;
    return depth;
}

static size_t rank_of(const struct hr_tree *tree, size_t member)
{
    return tree->first + (tree->reversed ? tree->n - 1 - member : member) * tree->stride;
}

/* The member on the other side of this member's edge at `level`; is there one? */
static bool has_edge(const struct hr_tree *tree, size_t member, size_t level, size_t *other,
                     bool *below)
{
    const size_t distance = (size_t)1 << level;
    *below = member % (2 * distance) == distance; /* this member is the child */
    *other = *below ? member - distance : member + distance;
    return *below || (member % (2 * distance) == 0 && *other < tree->n);
}

/* What the member does on its edge of this level, going up to the root or down from it. */
static enum hr_status cross(struct hr_plan *plan, const struct hr_tree *tree, size_t member,
                            size_t level, size_t step, bool up)
{
    size_t other;
    bool below;
    if (!has_edge(tree, member, level, &other, &below))
        return HR_OK;
    if (below == up)
        return hr_plan_send(plan, step, HR_OUT, rank_of(tree, other), tree->chunk);
    return hr_plan_receive(plan, step, up ? HR_ROW_ADD : HR_ROW_COPY, rank_of(tree, other),
                           tree->chunk);
}

enum hr_status hr_tree_reduce(struct hr_plan *plan, const struct hr_tree *tree, size_t member,
                              size_t level, size_t step)
{
    return cross(plan, tree, member, level, step, true);
}

enum hr_status hr_tree_broadcast(struct hr_plan *plan, const struct hr_tree *tree, size_t member,
                                 size_t level, size_t step)
{
    return cross(plan, tree, member, level, step, false);
}

static enum hr_status tree(struct hr_plan *plan, const struct hr_plan_for *of)
{
    const struct hr_tree all = {.stride = 1, .n = of->n};
    const size_t depth = hr_tree_depth(of->n);
    plan->nchunks = 1;
    HR_TRY(hr_plan_take_all(plan, of));
    for (size_t level = 0; level < depth; level++)
        HR_TRY(hr_tree_reduce(plan, &all, of->rank, level, level));
    for (size_t level = depth; level-- > 0;)
        HR_TRY(hr_tree_broadcast(plan, &all, of->rank, level, 2 * depth - 1 - level));
    return HR_OK;
}

const struct hr_algorithm hr_allreduce_tree = {
    .name = "tree",
    .order = "T(n), leaves in rank order",
    .plan = tree,
    .tree_order = true,
};
