/* allreduce_tree.h - up and down the binomial tree, for the algorithms that are made of trees. */
#ifndef HR_PLAN_ALLREDUCE_TREE_H
#define HR_PLAN_ALLREDUCE_TREE_H

#include "plan/plan.h"

/* A tree over some ranks: member m of n is rank first + m * stride, member 0 the root; reversed
 * counts members from the other end. The tree carries one chunk. */
struct hr_tree {
    size_t first, stride, n;
    bool reversed;
    size_t chunk;
};

/* log2 of n, rounded up: the steps that a tree over n members takes one way. */
size_t hr_tree_depth(size_t n);

/* Append what member `member` does, if anything, in step `level` (0 .. depth - 1) of the reduction,
 * from the leaves to the root. */
HR_CHECKED enum hr_status hr_tree_reduce(struct hr_plan *plan, const struct hr_tree *tree,
                                         size_t member, size_t level, size_t step);

/* The same for the broadcast, from the root to the leaves. */
HR_CHECKED enum hr_status hr_tree_broadcast(struct hr_plan *plan, const struct hr_tree *tree,
                                            size_t member, size_t level, size_t step);

#endif
