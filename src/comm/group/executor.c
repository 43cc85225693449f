#include "group/executor.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "group/plan_cache.h"
#include "group/stream.h"

/* --- memory --- */

static enum hr_status grow(unsigned char **memory, size_t *have, size_t bytes)
{
    if (bytes <= *have)
        return HR_OK;
    unsigned char *larger = realloc(*memory, bytes);
    if (!larger)
        return hr_fail(HR_E_NOMEM, "no memory: a collective needs %zu bytes of scratch", bytes);
    *memory = larger;
    *have = bytes;
    return HR_OK;
}

static enum hr_status begin(struct hr_executor *ex, const struct hr_plan *plan)
{
    ex->plan = plan;
    ex->layout.nchunks = plan->nchunks;
    ex->layout.run = plan->run;
    ex->row = ex->received = ex->nkept = ex->landed_bytes = 0;
    if (plan->uses_scratch)
        HR_TRY(grow(&ex->scratch, &ex->scratch_bytes, hr_layout_bytes(&ex->layout)));
    ex->base[HR_SCRATCH] = ex->scratch;
    return HR_OK;
}

void hr_executor_fini(struct hr_executor *executor)
{
    free(executor->scratch);
    free(executor->landing);
}

/* --- sending --- */

/* Of rows that sum: their chunks are never dealt. */
static struct hr_region region_of(const struct hr_executor *ex, const struct hr_row *row)
{
    return hr_layout_region(&ex->layout, row->chunk, row->span);
}

static struct hr_pieces pieces_of(const struct hr_executor *ex, const struct hr_row *row)
{
    return hr_layout_pieces(&ex->layout, row->chunk, row->span);
}

/* Address of a byte of a buffer, computed in integers: the buffer may be NULL when there are no
 * elements, and block 0 may lie outside of it. */
static unsigned char *at(const struct hr_executor *ex, uint8_t buffer, size_t offset)
{
    return (unsigned char *)((uintptr_t)ex->base[buffer] + offset);
}

/* Push what goes of one row; true when all of it went. */
static bool push(struct hr_member *member, const struct hr_row *row)
{
    struct hr_executor *ex = &member->executor;
    struct hr_outgoing outgoing = {.origin = ex->base[row->buffer],
                                   .pieces = pieces_of(ex, row),
                                   .done = ex->sent_bytes[row->peer]};
    const enum hr_push result =
        hr_stream_push(member, &ex->to[row->peer], row->peer, &member->call, &outgoing);
    ex->sent_bytes[row->peer] = outgoing.done;
    ex->lent[row->peer] |= result == HR_PUSHED_IN_PLACE;
    if (result == HR_PUSH_LATER)
        return false;
    member->traffic[row->peer].bytes_sent += outgoing.pieces.left;
    member->traffic[row->peer].messages_sent++;
    ex->sent_bytes[row->peer] = 0;
    return true;
}

/* The next row behind `row` that sends to the same peer and that we have come to; 0: none. */
static size_t next_send(const struct hr_executor *ex, size_t peer, size_t row)
{
    for (; row < ex->row; row++)
        if (ex->plan->rows[row].action == HR_ROW_SEND && ex->plan->rows[row].peer == peer)
            return row + 1;
    return 0;
}

static void push_all(struct hr_member *member)
{
    struct hr_executor *ex = &member->executor;
    for (size_t peer = 0; ex->nsending && peer < member->options.nranks; peer++) {
        while (ex->sending[peer] && push(member, &ex->plan->rows[ex->sending[peer] - 1])) {
            ex->sending[peer] = next_send(ex, peer, ex->sending[peer]);
            ex->nsending -= ex->sending[peer] == 0;
        }
    }
}

static void send_row(struct hr_member *member, const struct hr_row *row)
{
    struct hr_executor *ex = &member->executor;
    if (ex->sending[row->peer] || push(member, row))
        return; /* queued behind another send; or sent */
    ex->sending[row->peer] = ex->row + 1;
    ex->nsending++;
}

/* --- receiving --- */

static enum hr_status land(struct hr_executor *ex, const struct hr_row *row, size_t at,
                           const struct hr_incoming *incoming)
{
    const size_t all = region_of(ex, row).bytes;
    HR_TRY(grow(&ex->landing, &ex->landing_bytes, ex->landed_bytes + all));
    if (incoming->bytes)
        memcpy(ex->landing + ex->landed_bytes + at, incoming->data, incoming->bytes);
    if (at + incoming->bytes < all)
        return HR_OK;
    ex->kept[ex->nkept++] = (struct hr_kept){.peer = row->peer, .landed = ex->landed_bytes};
    ex->landed_bytes += hr_round_up(all, 64);
    return HR_OK;
}

/* Add or copy what arrived of a row's pieces; what is in place lies as it does here, from the piece
 * with which it begins. */
static void take_pieces(struct hr_member *member, const struct hr_row *row,
                        const struct hr_pieces *all, const struct hr_incoming *incoming)
{
    struct hr_executor *ex = &member->executor;
    const unsigned char *together = incoming->data;
    struct hr_pieces piece = hr_pieces_part(all, ex->received, incoming->bytes);
    const size_t first = piece.begin;
    for (; piece.bytes; hr_pieces_next(&piece)) {
        unsigned char *mine = at(ex, row->buffer, piece.begin);
        const unsigned char *theirs =
            incoming->in_place ? incoming->data + (piece.begin - first) : together;
        if (row->action == HR_ROW_ADD)
            hr_element_fold(member->job.kind, mine, theirs, piece.bytes / ex->layout.elem_bytes);
        else
            memcpy(mine, theirs, piece.bytes);
        together += piece.bytes;
    }
}

/* Do what the row says with a message or a part of one. *keep: do not release it yet. */
static enum hr_status take_in(struct hr_member *member, const struct hr_row *row,
                              const struct hr_pieces *all, const struct hr_incoming *incoming,
                              bool *keep)
{
    struct hr_executor *ex = &member->executor;
    *keep = row->action == HR_ROW_RECV && incoming->in_place;
    if (*keep)
        ex->kept[ex->nkept++] =
            (struct hr_kept){.peer = row->peer, .in_place = true, .at = incoming->data};
    else if (row->action == HR_ROW_RECV)
        return land(ex, row, ex->received, incoming);
    else
        take_pieces(member, row, all, incoming);
    return HR_OK;
}

static bool receive_row(struct hr_member *member, const struct hr_row *row)
{
    struct hr_executor *ex = &member->executor;
    const struct hr_pieces all = pieces_of(ex, row);
    struct hr_incoming incoming;
    bool keep;
    do {
        if (!hr_stream_peek(member, &ex->from[row->peer], row->peer, &member->call, &incoming,
                            &member->status))
            return member->status != HR_OK;
        member->status = take_in(member, row, &all, &incoming, &keep);
        if (member->status != HR_OK)
            return true;
        if (!keep)
            hr_stream_release(member, &ex->from[row->peer], row->peer);
        ex->received += incoming.bytes;
    } while (ex->received < all.left);
    member->traffic[row->peer].bytes_received += all.left;
    member->traffic[row->peer].messages_received++;
    ex->received = 0;
    return true;
}

/* --- local rows --- */

static void sum_row(struct hr_member *member, const struct hr_row *row)
{
    struct hr_executor *ex = &member->executor;
    const struct hr_region region = region_of(ex, row);
    const void *by_rank[HR_MAX_RANKS] = {0}, *in[HR_MAX_RANKS];
    void *out = at(ex, row->buffer, region.begin);
    size_t n = 0;
    by_rank[member->rank] = at(ex, (uint8_t)row->peer, region.begin);
    for (size_t k = 0; k < ex->nkept; k++)
        by_rank[ex->kept[k].peer] = ex->kept[k].in_place
                                        ? ex->kept[k].at
                                        : (void *)((uintptr_t)ex->landing + ex->kept[k].landed);
    for (size_t r = 0; r < member->options.nranks; r++)
        if (by_rank[r])
            in[n++] = by_rank[r];
    if (region.bytes && (n > 1 || in[0] != out)) /* without elements the buffers may be NULL */
        hr_element_tree(member->job.kind, &out, 1, in, n, region.bytes / ex->layout.elem_bytes);
    for (size_t k = 0; k < ex->nkept; k++)
        if (ex->kept[k].in_place)
            hr_stream_release(member, &ex->from[ex->kept[k].peer], ex->kept[k].peer);
    ex->nkept = ex->landed_bytes = 0;
}

static void take_row(struct hr_executor *ex, const struct hr_row *row)
{
    const struct hr_region region = region_of(ex, row);
    if (region.bytes)
        memmove(at(ex, HR_OUT, region.begin), at(ex, row->buffer, region.begin), region.bytes);
}

static bool drained(struct hr_member *member)
{
    struct hr_executor *ex = &member->executor;
    if (ex->nsending)
        return false;
    for (size_t r = 0; r < member->options.nranks; r++) {
        if (!ex->lent[r])
            continue;
        if (!hr_ring_drained_spsc(ex->to[r].ring))
            return false;
        ex->lent[r] = false;
    }
    return true;
}

/* --- the method --- */

/* Do one row; false when it has to wait. */
static bool do_row(struct hr_member *member, const struct hr_row *row)
{
    switch ((enum hr_action)row->action) {
    case HR_ROW_SEND:
        send_row(member, row);
        return true;
    case HR_ROW_RECV:
    case HR_ROW_ADD:
    case HR_ROW_COPY:
        return receive_row(member, row);
    case HR_ROW_SUM:
        sum_row(member, row);
        return true;
    case HR_ROW_TAKE:
        take_row(&member->executor, row);
        return true;
    case HR_ROW_DRAIN:
        return drained(member);
    }
    return true;
}

static bool test(struct hr_member *member)
{
    struct hr_executor *ex = &member->executor;
    push_all(member);
    while (ex->row < ex->plan->nrows) {
        if (!do_row(member, &ex->plan->rows[ex->row]))
            return false;
        if (member->status != HR_OK)
            return true;
        ex->row++; /* before push_all, which looks at rows before ex->row */
        push_all(member);
    }
    return drained(member);
}

static void start(struct hr_member *member)
{
    const struct hr_job *job = &member->job;
    const struct hr_operation_facts *facts = hr_operation_facts(job->operation);
    struct hr_executor *ex = &member->executor;
    const struct hr_plan *plan;
    ex->layout = (struct hr_layout){.count = job->count,
                                    .elem_bytes = hr_type_bytes(job->kind.type),
                                    .blocks = facts->blocks,
                                    .first = job->first};
    ex->base[HR_IN] = hr_layout_origin(&ex->layout, job->in, facts->in, member->rank);
    ex->base[HR_OUT] = hr_layout_origin(&ex->layout, job->out, facts->out, member->rank);
    const struct hr_plan_for of = {.rank = member->rank,
                                   .n = member->options.nranks,
                                   .root = job->root,
                                   .group_size = member->choice.group_size,
                                   .upper = member->choice.upper,
                                   .in_place = ex->base[HR_IN] == ex->base[HR_OUT]};
    member->status =
        hr_plan_cache_find(member->plans, job->operation, member->choice.algorithm, &of, &plan);
    if (member->status == HR_OK)
        member->status = begin(ex, plan);
}

static struct hr_bell *bell(const struct hr_member *member)
{
    return hr_member_bell_of(member, member->rank);
}

const struct hr_method hr_by_plan = {start, test, bell};
