/* Double-tree all-reduce: two trees, each with half of the data.
 *
 *   Words    2 chunks, dealt out by the flat index (plan.h), one a tree; the second tree counts
 *            ranks from the other end: rank n - 1 is its root, and the ranks that send much in one
 *            tree send little in the other.
 *   Story    as in allreduce_tree.c, both trees in each step.
 *   Cost     2 depth steps; 2 (n - 1) S in all, the roots' share of it halved.
 *   Order    T(n): chunk 0 with its leaves in rank order, chunk 1 in reverse order.
 *   Source   Sanders, Speck and Traeff, "Two-tree algorithms for full bandwidth broadcast,
 *            reduction and scan", Parallel Computing 35 (2009); ours are binomial, mirrored.
 */
#include "plan/plan.h"

typedef enum hr_status (*tree_step_fn)(struct hr_plan *plan, const struct hr_tree *tree,
                                       size_t member, size_t level, size_t step);

static enum hr_status both(struct hr_plan *plan, const struct hr_plan_for *of, tree_step_fn append,
                           size_t level, size_t step)
{
    const struct hr_tree first = {.stride = 1, .n = of->n, .chunk = 0};
    const struct hr_tree second = {.stride = 1, .n = of->n, .reversed = true, .chunk = 1};
    HR_TRY(append(plan, &first, of->rank, level, step));
    return append(plan, &second, of->n - 1 - of->rank, level, step);
}

static enum hr_status double_tree(struct hr_plan *plan, const struct hr_plan_for *of)
{
    const size_t depth = hr_tree_depth(of->n);
    plan->nchunks = 2;
    plan->run = HR_RUN_ELEMS;
    HR_TRY(hr_plan_take_all(plan, of));
    for (size_t level = 0; level < depth; level++)
        HR_TRY(both(plan, of, hr_tree_reduce, level, level));
    for (size_t level = depth; level-- > 0;)
        HR_TRY(both(plan, of, hr_tree_broadcast, level, 2 * depth - 1 - level));
    return HR_OK;
}

const struct hr_algorithm hr_allreduce_double_tree = {
    .name = "double-tree",
    .order = "T(n): even runs from rank 0 up, odd ones from rank n - 1 down",
    .plan = double_tree,
};
