#include "group/layout.h"

#include <string.h>

#include "base/size.h"
#include "shm/atom.h"

static const struct hr_operation_facts facts[HR_OPERATIONS] = {
    [HR_OP_NONE] = {.name = "nothing"},
    [HR_OP_BARRIER] = {.name = "barrier"},
    [HR_OP_BROADCAST] = {.name = "broadcast",
                         .plan = hr_plan_broadcast,
                         .rooted = true,
                         .in = HR_ONE_BLOCK,
                         .out = HR_ONE_BLOCK},
    [HR_OP_ALL_REDUCE] = {.name = "all_reduce",
                          .reduces = true,
                          .in = HR_ONE_BLOCK,
                          .out = HR_ONE_BLOCK},
    [HR_OP_REDUCE] = {.name = "reduce",
                      .plan = hr_plan_reduce,
                      .rooted = true,
                      .reduces = true,
                      .in = HR_ONE_BLOCK,
                      .out = HR_ONE_BLOCK},
    [HR_OP_REDUCE_SCATTER] = {.name = "reduce_scatter",
                              .plan = hr_plan_reduce_scatter,
                              .blocks = true,
                              .reduces = true,
                              .in = HR_ALL_BLOCKS,
                              .out = HR_ONE_BLOCK},
    [HR_OP_ALL_GATHER] = {.name = "all_gather",
                          .plan = hr_plan_all_gather,
                          .blocks = true,
                          .in = HR_ONE_BLOCK,
                          .out = HR_ALL_BLOCKS},
    [HR_OP_GATHER] = {.name = "gather",
                      .plan = hr_plan_gather,
                      .blocks = true,
                      .rooted = true,
                      .in = HR_ONE_BLOCK,
                      .out = HR_ALL_BLOCKS},
    [HR_OP_SCATTER] = {.name = "scatter",
                       .plan = hr_plan_scatter,
                       .blocks = true,
                       .rooted = true,
                       .in = HR_ALL_BLOCKS,
                       .out = HR_ONE_BLOCK},
    [HR_OP_ALL_TO_ALL] = {.name = "all_to_all",
                          .plan = hr_plan_all_to_all,
                          .blocks = true,
                          .in = HR_ALL_BLOCKS,
                          .out = HR_ALL_BLOCKS},
    [HR_OP_REDUCE_APPLY] = {.name = "reduce_apply", .reduces = true, .in = HR_ONE_BLOCK},
    [HR_OP_SEND] = {.name = "send", .in = HR_ONE_BLOCK, .out = HR_ONE_BLOCK},
};

const struct hr_operation_facts *hr_operation_facts(enum hr_operation operation)
{
    return &facts[operation < HR_OPERATIONS ? operation : HR_OP_NONE];
}

enum hr_operation hr_operation_find(const char *name)
{
    for (enum hr_operation operation = HR_OP_BARRIER; operation < HR_OPERATIONS; operation++)
        if (!strcmp(name, facts[operation].name))
            return operation;
    return HR_OP_NONE;
}

static size_t first_element(const struct hr_layout *layout, size_t chunk)
{
    if (layout->blocks)
        return chunk * layout->count;
    return hr_chunk_begin(layout->count, HR_LINE / layout->elem_bytes, layout->nchunks, chunk);
}

struct hr_region hr_layout_region(const struct hr_layout *layout, size_t chunk, size_t span)
{
    const size_t begin = first_element(layout, chunk) * layout->elem_bytes;
    return (struct hr_region){begin,
                              first_element(layout, chunk + span) * layout->elem_bytes - begin};
}

unsigned char *hr_layout_origin(const struct hr_layout *layout, const void *buffer,
                                enum hr_extent extent, size_t own)
{
    const bool whole = !layout->blocks || extent != HR_ONE_BLOCK;
    return (unsigned char *)((uintptr_t)buffer -
                             (whole ? 0 : own * layout->count * layout->elem_bytes));
}

size_t hr_layout_bytes(const struct hr_layout *layout)
{
    return (layout->blocks ? layout->nchunks : 1) * layout->count * layout->elem_bytes;
}
