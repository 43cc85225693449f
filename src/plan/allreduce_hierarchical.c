/* Hierarchical all-reduce: first within a node, then between the nodes' leaders, then back.
 *
 *   Words    nodes of group_size ranks each (the last may have fewer); a node's first rank leads.
 *   Story    0. every member lets its leader have its buffer; the leader sums its node's
 *            1. the leaders all-reduce by a tree (allreduce_tree.c)
 *            2. every leader lets its members have the result
 *   Cost     2 + 2 depth steps, depth = log2 of the number of nodes; between nodes 2 (nodes - 1) S
 *            in all, within a node 2 (group_size - 1) S: what is slow carries least.
 *   Order    T over the nodes of T over a node's ranks: T(n) where group_size is a power of two.
 */
#include "base/size.h"
#include "plan/allreduce_tree.h"

enum { USUAL_GROUP = 2 };

struct node {
    size_t leader, size; /* ranks [leader, leader + size) */
    size_t usual_size;   /* of all nodes but perhaps the last */
    size_t number, nodes;
};

static struct node node_of(const struct hr_plan_for *of)
{
    const size_t g = of->group_size ? of->group_size : USUAL_GROUP, leader = of->rank / g * g;
    return (struct node){leader, hr_min_size(g, of->n - leader), g, of->rank / g,
                         (of->n + g - 1) / g};
}

static enum hr_status gather(struct hr_plan *plan, const struct node *node)
{
    for (size_t m = 1; m < node->size; m++)
        HR_TRY(hr_plan_receive(plan, 0, HR_ROW_RECV, node->leader + m, 0));
    return hr_plan_local(plan, 0, HR_ROW_SUM, HR_OUT, 0);
}

static enum hr_status among_leaders(struct hr_plan *plan, const struct node *node)
{
    const struct hr_tree leaders = {.stride = node->usual_size, .n = node->nodes};
    const size_t depth = hr_tree_depth(node->nodes);
    for (size_t level = 0; level < depth; level++)
        HR_TRY(hr_tree_reduce(plan, &leaders, node->number, level, 1 + level));
    for (size_t level = depth; level-- > 0;)
        HR_TRY(hr_tree_broadcast(plan, &leaders, node->number, level, 2 * depth - level));
    return HR_OK;
}

static enum hr_status hierarchical(struct hr_plan *plan, const struct hr_plan_for *of)
{
    const struct node node = node_of(of);
    const size_t last = 1 + 2 * hr_tree_depth(node.nodes);
    plan->nchunks = 1;
    if (of->rank != node.leader) {
        HR_TRY(hr_plan_send(plan, 0, HR_IN, node.leader, 0));
        return hr_plan_receive(plan, last, HR_ROW_COPY, node.leader, 0);
    }
    HR_TRY(gather(plan, &node));
    HR_TRY(among_leaders(plan, &node));
    for (size_t m = 1; m < node.size; m++)
        HR_TRY(hr_plan_send(plan, last, HR_OUT, node.leader + m, 0));
    return HR_OK;
}

const struct hr_algorithm hr_allreduce_hierarchical = {
    .name = "hierarchical",
    .order = "T over nodes of T over a node's ranks",
    .plan = hierarchical,
    .tree_order = true,
};
