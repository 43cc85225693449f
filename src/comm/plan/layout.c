#include "plan/layout.h"

#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "shm/atom.h"

/* --- the plans of operations: of each chunk r is block r, where it has blocks --- */

/* Broadcast: everybody copies the root's buffer.
 *
 *   Cost     1 step, (n - 1) S, all at once, read from one place.
 *   Order    nothing is added.
 */
enum hr_status hr_plan_broadcast(struct hr_plan *plan, const struct hr_plan_for *of)
{
    plan->nchunks = 1;
    if (of->rank != of->root)
        return hr_plan_receive(plan, 0, HR_ROW_COPY, of->root, 0);
    for (size_t hop = 1; hop < of->n; hop++)
        HR_TRY(hr_plan_send(plan, 0, HR_OUT, (of->root + hop) % of->n, 0));
    return HR_OK;
}

/* Reduce: the root sums everybody's buffer.
 *
 *   Cost     1 step, (n - 1) S, all of it to the root.
 *   Order    T(n), leaves in rank order whatever the root.
 */
static enum hr_status reduce(struct hr_plan *plan, const struct hr_plan_for *of)
{
    plan->nchunks = 1;
    if (of->rank != of->root)
        return hr_plan_send(plan, 0, HR_IN, of->root, 0);
    for (size_t hop = 1; hop < of->n; hop++)
        HR_TRY(hr_plan_receive(plan, 0, HR_ROW_RECV, (of->root + hop) % of->n, 0));
    return hr_plan_local(plan, 0, HR_ROW_SUM, HR_OUT, 0);
}

/* Reduce-scatter: the owner of each block sums everybody's part of it.
 *
 *   Cost     1 step; each rank sends n - 1 blocks.
 *   Order    T(n), leaves in rank order.
 */
static enum hr_status reduce_scatter(struct hr_plan *plan, const struct hr_plan_for *of)
{
    const size_t n = of->n, rank = of->rank;
    plan->nchunks = n;
    for (size_t hop = 1; hop < n; hop++)
        HR_TRY(hr_plan_send(plan, 0, HR_IN, (rank + hop) % n, (rank + hop) % n));
    for (size_t hop = 1; hop < n; hop++)
        HR_TRY(hr_plan_receive(plan, 0, HR_ROW_RECV, (rank + n - hop) % n, rank));
    return hr_plan_local(plan, 0, HR_ROW_SUM, HR_OUT, rank);
}

/* Gather and all-gather: everybody's block in one buffer, the root's or everybody's.
 *
 *   Cost     1 step; each rank sends its block once, or n - 1 times.
 *   Order    nothing is added.
 */
static enum hr_status take_own(struct hr_plan *plan, const struct hr_plan_for *of)
{
    return of->in_place ? HR_OK : hr_plan_local(plan, 0, HR_ROW_TAKE, HR_IN, of->rank);
}

static enum hr_status gather(struct hr_plan *plan, const struct hr_plan_for *of)
{
    plan->nchunks = of->n;
    if (of->rank != of->root)
        return hr_plan_send(plan, 0, HR_IN, of->root, of->rank);
    HR_TRY(take_own(plan, of));
    for (size_t hop = 1; hop < of->n; hop++) {
        const size_t peer = (of->root + hop) % of->n;
        HR_TRY(hr_plan_receive(plan, 0, HR_ROW_COPY, peer, peer));
    }
    return HR_OK;
}

enum hr_status hr_plan_all_gather(struct hr_plan *plan, const struct hr_plan_for *of)
{
    const size_t n = of->n, rank = of->rank;
    plan->nchunks = n;
    for (size_t hop = 1; hop < n; hop++)
        HR_TRY(hr_plan_send(plan, 0, HR_IN, (rank + hop) % n, rank));
    HR_TRY(take_own(plan, of));
    for (size_t hop = 1; hop < n; hop++)
        HR_TRY(hr_plan_receive(plan, 0, HR_ROW_COPY, (rank + n - hop) % n, (rank + n - hop) % n));
    return HR_OK;
}

/* Scatter: everybody copies its block of the root's buffer.
 *
 *   Cost     1 step; the root sends n - 1 blocks.
 *   Order    nothing is added.
 */
static enum hr_status scatter(struct hr_plan *plan, const struct hr_plan_for *of)
{
    plan->nchunks = of->n;
    if (of->rank != of->root)
        return hr_plan_receive(plan, 0, HR_ROW_COPY, of->root, of->rank);
    for (size_t hop = 1; hop < of->n; hop++) {
        const size_t peer = (of->root + hop) % of->n;
        HR_TRY(hr_plan_send(plan, 0, HR_IN, peer, peer));
    }
    return of->in_place ? HR_OK : hr_plan_local(plan, 0, HR_ROW_TAKE, HR_IN, of->root);
}

/* All-to-all: block q of rank r becomes block r of rank q.
 *
 *   Words    chunk c is block c; what is sent as chunk q arrives as chunk r.
 *   Cost     1 step; each rank sends n - 1 blocks.
 *   Order    nothing is added.
 *   Safety   in place, blocks arrive in scratch until nobody reads the input any more.
 */
enum hr_status hr_plan_all_to_all(struct hr_plan *plan, const struct hr_plan_for *of)
{
    const size_t n = of->n, rank = of->rank;
    const enum hr_buffer arrival = of->in_place ? HR_SCRATCH : HR_OUT;
    plan->nchunks = n;
    for (size_t hop = 1; hop < n; hop++)
        HR_TRY(hr_plan_send(plan, 0, HR_IN, (rank + hop) % n, (rank + hop) % n));
    if (!of->in_place)
        HR_TRY(hr_plan_local(plan, 0, HR_ROW_TAKE, HR_IN, rank));
    for (size_t hop = 1; hop < n; hop++) {
        const size_t peer = (rank + n - hop) % n;
        HR_TRY(hr_plan_add(plan, (struct hr_row){.peer = (uint16_t)peer,
                                                 .chunk = (uint16_t)peer,
                                                 .span = 1,
                                                 .action = HR_ROW_COPY,
                                                 .buffer = (uint8_t)arrival}));
    }
    if (!of->in_place)
        return HR_OK;
    HR_TRY(hr_plan_local(plan, 0, HR_ROW_DRAIN, HR_OUT, 0));
    for (size_t hop = 1; hop < n; hop++)
        HR_TRY(hr_plan_local(plan, 0, HR_ROW_TAKE, HR_SCRATCH, (rank + hop) % n));
    return HR_OK;
}

/* --- from a name to its algorithm --- */

const struct hr_algorithm hr_allreduce_auto = {
    .name = "auto",
    .order = "T(n), leaves in rank order",
    .tree_order = true,
};

#define ENTRY(name) &hr_allreduce_##name,
static const struct hr_algorithm *const algorithms[] = {HR_ALLREDUCES(ENTRY)};

enum { NALGORITHMS = sizeof algorithms / sizeof *algorithms };

const struct hr_algorithm *hr_algorithm_at(size_t i)
{
    return i < NALGORITHMS ? algorithms[i] : NULL;
}

size_t hr_algorithm_number(const struct hr_algorithm *algorithm)
{
    size_t i = 0;
    while (i < NALGORITHMS && algorithms[i] != algorithm)
        i++;
    HR_ASSERT(i < NALGORITHMS);
    return i;
}

enum hr_status hr_algorithm_find(const char *name, const struct hr_algorithm **out)
{
    char known[256] = "";
    for (size_t i = 0; i < NALGORITHMS; i++) {
        if (!strcmp(name, algorithms[i]->name)) {
            *out = algorithms[i];
            return HR_OK;
        }
        const size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", algorithms[i]->name);
    }
    return hr_fail(HR_E_USAGE, "--algorithm %s: there is no such algorithm (there are: %s)", name,
                   known);
}

/* --- facts, and layouts --- */

static const struct hr_operation_facts operations[HR_OPERATIONS] = {
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
                      .plan = reduce,
                      .rooted = true,
                      .reduces = true,
                      .in = HR_ONE_BLOCK,
                      .out = HR_ONE_BLOCK},
    [HR_OP_REDUCE_SCATTER] = {.name = "reduce_scatter",
                              .plan = reduce_scatter,
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
                      .plan = gather,
                      .blocks = true,
                      .rooted = true,
                      .in = HR_ONE_BLOCK,
                      .out = HR_ALL_BLOCKS},
    [HR_OP_SCATTER] = {.name = "scatter",
                       .plan = scatter,
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
    return &operations[operation < HR_OPERATIONS ? operation : HR_OP_NONE];
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

/* --- calls --- */

/* Bits of a kind. */
enum { ALGORITHM_AT = 8, TYPE_AT = 16, REDOP_AT = 20, OWN_MEMORY_AT = 24, NIBBLE = 15, BYTE = 255 };

uint32_t hr_call_kind(enum hr_operation operation, const struct hr_algorithm *algorithm,
                      struct hr_kind kind, bool own_memory)
{
    const uint32_t number = algorithm ? (uint32_t)hr_algorithm_number(algorithm) : 0;
    return (uint32_t)operation | number << ALGORITHM_AT | (uint32_t)kind.type << TYPE_AT |
           (uint32_t)kind.redop << REDOP_AT | (uint32_t)own_memory << OWN_MEMORY_AT;
}

void hr_call_describe(char *text, size_t size, const struct hr_call *call)
{
    const enum hr_operation operation = (enum hr_operation)(call->kind & BYTE);
    const struct hr_operation_facts *facts = hr_operation_facts(operation);
    const struct hr_algorithm *algorithm = hr_algorithm_at(call->kind >> ALGORITHM_AT & BYTE);
    const char *type = hr_type_name((enum hr_type)(call->kind >> TYPE_AT & NIBBLE));
    const char *redop = hr_redop_name((enum hr_redop)(call->kind >> REDOP_AT & NIBBLE));
    char root[32] = "";
    if (facts->rooted)
        snprintf(root, sizeof root, ", root %u", call->root);
    if (operation == HR_OP_BARRIER) {
        snprintf(text, size, "barrier number %llu", (unsigned long long)call->sequence);
        return;
    }
    snprintf(text, size, "%s%s%s number %llu of %llu %s%s%s%s%s", facts->name,
             operation == HR_OP_ALL_REDUCE ? " " : "",
             operation == HR_OP_ALL_REDUCE && algorithm ? algorithm->name : "",
             (unsigned long long)call->sequence, (unsigned long long)call->count, type ? type : "?",
             facts->reduces ? " " : "", facts->reduces && redop ? redop : "", root,
             call->kind >> OWN_MEMORY_AT & 1 ? " in its own memory" : "");
}
