#include "plan/layout.h"

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

/* All chunks together lie in one place, dealt or not. */
static bool is_dealt(const struct hr_layout *layout, size_t span)
{
    return layout->run && span < layout->nchunks;
}

static size_t first_element(const struct hr_layout *layout, size_t chunk)
{
    if (layout->blocks)
        return chunk * layout->count;
    return hr_chunk_begin(layout->count, HR_LINE / layout->elem_bytes, layout->nchunks, chunk);
}

struct hr_region hr_layout_region(const struct hr_layout *layout, size_t chunk, size_t span)
{
    HR_ASSERT(!is_dealt(layout, span));
    const size_t begin = first_element(layout, chunk) * layout->elem_bytes;
    return (struct hr_region){begin,
                              first_element(layout, chunk + span) * layout->elem_bytes - begin};
}

/* --- pieces --- */

/* How many of the whole's first `bytes` bytes belong to a chunk that has [at, at + run) of every
 * round. */
static size_t dealt_before(size_t bytes, size_t round, size_t at, size_t run)
{
    const size_t over = bytes % round;
    return bytes / round * run + (over > at ? hr_min_size(over - at, run) : 0);
}

static struct hr_pieces dealt_pieces(const struct hr_layout *layout, size_t chunk)
{
    const size_t run = layout->run * layout->elem_bytes, round = layout->nchunks * run;
    const size_t first = layout->first * layout->elem_bytes;
    const size_t end = first + layout->count * layout->elem_bytes;
    const size_t before = dealt_before(first, round, chunk * run, run), over = before % run;
    const size_t left = dealt_before(end, round, chunk * run, run) - before;
    return (struct hr_pieces){.begin = before / run * round + chunk * run + over - first,
                              .bytes = hr_min_size(left, run - over),
                              .left = left,
                              .run = run,
                              .gap = round - run};
}

struct hr_pieces hr_layout_pieces(const struct hr_layout *layout, size_t chunk, size_t span)
{
    if (is_dealt(layout, span)) {
        HR_ASSERT(span == 1);
        return dealt_pieces(layout, chunk);
    }
    const struct hr_region region = hr_layout_region(layout, chunk, span);
    return hr_pieces_together(region.begin, region.bytes);
}

struct hr_pieces hr_pieces_part(const struct hr_pieces *of, size_t from, size_t bytes)
{
    if (from < of->bytes || !bytes)
        return (struct hr_pieces){of->begin + from, hr_min_size(bytes, of->bytes - from), bytes,
                                  of->run, of->gap};
    const size_t behind = from - of->bytes, over = behind % of->run;
    const size_t begin = of->begin + of->bytes + of->gap + behind / of->run * (of->run + of->gap);
    return (struct hr_pieces){begin + over, hr_min_size(bytes, of->run - over), bytes, of->run,
                              of->gap};
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

enum hr_status hr_algorithm_sends(const struct hr_algorithm *algorithm,
                                  const struct hr_plan_for *of, size_t count, uint64_t *bytes)
{
    struct hr_plan plan = {0};
    const enum hr_status status = algorithm->plan(&plan, of);
    const struct hr_layout layout = {
        .count = count, .elem_bytes = sizeof(float), .nchunks = plan.nchunks, .run = plan.run};
    *bytes = 0;
    for (size_t i = 0; status == HR_OK && i < plan.nrows; i++)
        if (plan.rows[i].action == HR_ROW_SEND)
            *bytes += hr_layout_pieces(&layout, plan.rows[i].chunk, plan.rows[i].span).left;
    hr_plan_fini(&plan);
    return status;
}
