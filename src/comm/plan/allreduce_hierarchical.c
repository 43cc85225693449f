/* Hierarchical all-reduce: first within a node, then between the nodes' leaders, then back.
 *
 *   Words    nodes of group_size ranks each (the last may have fewer); a node's first rank leads.
 *   Story    0. every member lets its leader have its buffer; the leader sums its node's
 *            1. the leaders all-reduce by a tree (allreduce_tree.c), or by another plan
 *            2. every leader lets its members have the result
 *   Cost     2 + 2 depth steps, depth = log2 of the number of nodes; between nodes 2 (nodes - 1) S
 *            in all, within a node 2 (group_size - 1) S: what is slow carries least. With direct
 *            among the leaders each of them sends and receives 2 (nodes - 1) / nodes S, both ways
 *            at once; with one-shot it takes one step, and (nodes - 1) S.
 *   Order    T over the nodes of T over a node's ranks: T(n) where group_size is a power of two.
 */
#include "base/size.h"
#include "plan/plan.h"

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

/* A row on all chunks. */
static enum hr_status add(struct hr_plan *plan, size_t step, enum hr_action action,
                          enum hr_buffer buffer, size_t peer)
{
    return hr_plan_add(plan, (struct hr_row){.step = (uint16_t)step,
                                             .peer = (uint16_t)peer,
                                             .span = (uint16_t)plan->nchunks,
                                             .action = (uint8_t)action,
                                             .buffer = (uint8_t)buffer});
}

static enum hr_status gather(struct hr_plan *plan, const struct node *node)
{
    for (size_t m = 1; m < node->size; m++)
        HR_TRY(add(plan, 0, HR_ROW_RECV, HR_OUT, node->leader + m));
    return add(plan, 0, HR_ROW_SUM, HR_OUT, HR_IN);
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

/* Rows of the leaders' own plan: a leader is where its node's number times the size is, and what it
 * puts in is the sum that stands in its output. */
static enum hr_status by_upper(struct hr_plan *plan, const struct node *node,
                               const struct hr_plan *upper)
{
    for (size_t i = 0; i < upper->nrows; i++) {
        struct hr_row row = upper->rows[i];
        const bool local = row.action == HR_ROW_TAKE || row.action == HR_ROW_DRAIN;
        row.step++;
        if (row.action == HR_ROW_SUM)
            row.peer = HR_OUT;
        else if (!local)
            row.peer = (uint16_t)(row.peer * node->usual_size);
        if (row.buffer == HR_IN)
            row.buffer = HR_OUT;
        HR_TRY(hr_plan_add(plan, row));
    }
    return HR_OK;
}

static enum hr_status rows_of(struct hr_plan *plan, const struct hr_plan_for *of,
                              const struct node *node, const struct hr_plan *upper)
{
    size_t last = 1 + 2 * hr_tree_depth(node->nodes);
    for (size_t i = 0; i < upper->nrows; i++)
        last = hr_max_size(last, upper->rows[i].step + 2u);
    if (of->rank != node->leader) {
        HR_TRY(add(plan, 0, HR_ROW_SEND, HR_IN, node->leader));
        return add(plan, last, HR_ROW_COPY, HR_OUT, node->leader);
    }
    HR_TRY(gather(plan, node));
    HR_TRY(of->upper ? by_upper(plan, node, upper) : among_leaders(plan, node));
    for (size_t m = 1; m < node->size; m++)
        HR_TRY(add(plan, last, HR_ROW_SEND, HR_OUT, node->leader + m));
    return HR_OK;
}

static enum hr_status hierarchical(struct hr_plan *plan, const struct hr_plan_for *of)
{
    const struct node node = node_of(of);
    const struct hr_plan_for among = {.rank = node.number, .n = node.nodes, .in_place = true};
    struct hr_plan upper = {.nchunks = 1};
    enum hr_status status = of->upper ? of->upper->plan(&upper, &among) : HR_OK;
    HR_ASSERT(!upper.run);
    plan->nchunks = upper.nchunks;
    if (status == HR_OK)
        status = rows_of(plan, of, &node, &upper);
    hr_plan_fini(&upper);
    return status;
}

const struct hr_algorithm hr_allreduce_hierarchical = {
    .name = "hierarchical",
    .order = "T over nodes of T over a node's ranks",
    .plan = hierarchical,
    .tree_order = true,
};
