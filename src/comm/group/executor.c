#include "group/executor.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/size.h"
#include "group/member.h"
#include "netsim/links.h"

/* === streams: from one rank to another === */

/* The words of a message. */
enum { COUNT, ROOT, ADDRESS, BYTES, ARRIVES };

static const uint64_t BY_PAYLOAD = UINT64_MAX; /* instead of an address */

static unsigned char *payload_of(const struct hr_member *member, const struct hr_stream *stream,
                                 const struct hr_message *message)
{
    return stream->payload + (size_t)(message - stream->ring->slot) * member->options.slot_bytes;
}

static void commit(struct hr_member *member, struct hr_stream *stream, size_t peer,
                   const struct hr_call *call, struct hr_message *message, uint64_t address,
                   size_t bytes)
{
    const struct hr_wires *wires = member->place.wires;
    *message = (struct hr_message){
        .sequence = call->sequence,
        .kind = call->kind,
        .from = (uint32_t)member->rank,
        .word = {[COUNT] = call->count,
                 [ROOT] = call->root,
                 [ADDRESS] = address,
                 [BYTES] = bytes,
                 [ARRIVES] = wires ? hr_wires_send(wires, member->rank, peer, bytes) : 0},
    };
    hr_ring_commit_spsc(stream->ring);
    hr_bell_ring(hr_member_bell_of(member, peer));
}

static void gather(unsigned char *to, const struct hr_outgoing *outgoing, size_t bytes)
{
    struct hr_pieces piece = hr_pieces_part(&outgoing->pieces, outgoing->done, bytes);
    for (; piece.bytes; hr_pieces_next(&piece)) {
        memcpy(to, (const void *)((uintptr_t)outgoing->origin + piece.begin), piece.bytes);
        to += piece.bytes;
    }
}

static enum hr_pushed push_payload(struct hr_member *member, struct hr_stream *stream, size_t peer,
                                   const struct hr_call *call, struct hr_outgoing *outgoing)
{
    do {
        struct hr_message *message = hr_ring_try_reserve_spsc(stream->ring);
        if (!message)
            return HR_PUSH_LATER;
        hr_place_moves(&member->place);
        const size_t bytes =
            hr_min_size(member->options.slot_bytes, outgoing->pieces.left - outgoing->done);
        gather(payload_of(member, stream, message), outgoing, bytes);
        commit(member, stream, peer, call, message, BY_PAYLOAD, bytes);
        outgoing->done += bytes;
    } while (outgoing->done < outgoing->pieces.left);
    return HR_PUSHED_PAYLOAD;
}

/* From its first byte to its last. */
static bool all_reach(const struct hr_place *place, const struct hr_outgoing *outgoing)
{
    const struct hr_pieces *p = &outgoing->pieces;
    const size_t last = p->left ? hr_pieces_part(p, p->left - 1, 1).begin + 1 : p->begin;
    return hr_place_reaches(place, (const void *)((uintptr_t)outgoing->origin + p->begin),
                            last - p->begin);
}

/* One message; or to another machine one a piece, which is carried alone. */
static enum hr_pushed push_in_place(struct hr_member *member, struct hr_stream *stream, size_t peer,
                                    const struct hr_call *call, struct hr_outgoing *outgoing)
{
    const struct hr_pieces *all = &outgoing->pieces;
    const bool whole = hr_hosts_same(&member->options.hosts, member->rank, peer);
    do {
        struct hr_message *message = hr_ring_try_reserve_spsc(stream->ring);
        if (!message)
            return HR_PUSH_LATER;
        const size_t left = all->left - outgoing->done;
        const struct hr_pieces rest = hr_pieces_part(all, outgoing->done, left);
        const size_t bytes = whole ? left : rest.bytes;
        const uintptr_t data = (uintptr_t)outgoing->origin + (left ? rest.begin : all->begin);
        commit(member, stream, peer, call, message,
               (uint64_t)(data - (uintptr_t)member->place.segment), bytes);
        outgoing->done += bytes;
    } while (outgoing->done < all->left);
    return HR_PUSHED_IN_PLACE;
}

enum hr_pushed hr_stream_push(struct hr_member *member, struct hr_stream *stream, size_t peer,
                              const struct hr_call *call, struct hr_outgoing *outgoing)
{
    if (member->options.copies || !all_reach(&member->place, outgoing))
        return push_payload(member, stream, peer, call, outgoing);
    return push_in_place(member, stream, peer, call, outgoing);
}

struct hr_cargo hr_stream_cargo(const void *segment, const struct hr_ring *ring, size_t slot_bytes,
                                const struct hr_message *message)
{
    const size_t payload = (uintptr_t)ring - (uintptr_t)segment + hr_ring_bytes(HR_STREAM_SLOTS) +
                           (size_t)(message - ring->slot) * slot_bytes;
    const size_t bytes = message->word[BYTES];
    const bool slot = message->word[ADDRESS] == BY_PAYLOAD;
    if (!bytes) /* and perhaps no address */
        return (struct hr_cargo){0};
    return (struct hr_cargo){slot ? payload : message->word[ADDRESS], bytes, slot};
}

/* Emulated links: a message is there when its time has come. */
static bool has_arrived(struct hr_member *member, const struct hr_message *message)
{
    const int64_t arrives = (int64_t)message->word[ARRIVES];
    if (!arrives || hr_clock_ns() >= arrives)
        return true;
    member->place.waiter->alarm_ns = arrives;
    member->place.waiter->under_way = true;
    return false;
}

bool hr_stream_peek(struct hr_member *member, struct hr_stream *stream, size_t peer,
                    const struct hr_call *expected, struct hr_incoming *incoming,
                    enum hr_status *status)
{
    const struct hr_message *message = hr_ring_peek_spsc(stream->ring);
    if (!message || !has_arrived(member, message))
        return false;
    hr_place_moves(&member->place);
    /* The fingerprint travels with every message, and is compared with every one. */
    const struct hr_call theirs = {message->sequence, message->word[COUNT], message->kind,
                                   (uint32_t)message->word[ROOT]};
    if (HR_SAFETY && !hr_call_equal(&theirs, expected)) {
        *status = hr_member_mismatch(member, expected, peer, &theirs);
        return false;
    }
    incoming->in_place = message->word[ADDRESS] != BY_PAYLOAD;
    incoming->bytes = message->word[BYTES];
    incoming->data = incoming->in_place ? (const unsigned char *)((uintptr_t)member->place.segment +
                                                                  (uintptr_t)message->word[ADDRESS])
                                        : payload_of(member, stream, message);
    return true;
}

void hr_stream_release(struct hr_member *member, struct hr_stream *stream, size_t peer)
{
    hr_ring_release_spsc(stream->ring);
    hr_bell_ring(hr_member_bell_of(member, peer));
}

/* === a plan, walked === */

/* --- plans made so far --- */

static bool is_for(const struct hr_made_plan *made, const struct hr_algorithm *algorithm,
                   const struct hr_plan_for *of)
{
    const struct hr_plan_for *is = &made->of;
    return made->made && made->algorithm == algorithm && is->rank == of->rank && is->n == of->n &&
           is->root == of->root && is->group_size == of->group_size && is->upper == of->upper &&
           is->in_place == of->in_place;
}

/* The plan of an operation (of an algorithm, where that is an all_reduce), made if need be; valid
 * until the operation's next call. */
static enum hr_status find_plan(struct hr_made_plan *made, enum hr_operation operation,
                                const struct hr_algorithm *algorithm, const struct hr_plan_for *of)
{
    const hr_plan_fn make = algorithm ? algorithm->plan : hr_operation_facts(operation)->plan;
    if (is_for(made, algorithm, of))
        return HR_OK;
    HR_ASSERT(make);
    made->made = false;
    made->algorithm = algorithm;
    made->of = *of;
    made->plan.nrows = 0;
    made->plan.uses_scratch = false;
    made->plan.run = 0;
    HR_TRY(make(&made->plan, of));
    made->made = true;
    return HR_OK;
}

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
    for (size_t i = 0; i < HR_OPERATIONS; i++)
        hr_plan_fini(&executor->made[i].plan);
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
    const enum hr_pushed result =
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
    struct hr_made_plan *made = &ex->made[job->operation];
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
    member->status = find_plan(made, job->operation, member->choice.algorithm, &of);
    if (member->status == HR_OK)
        member->status = begin(ex, &made->plan);
}

static struct hr_bell *bell(const struct hr_member *member)
{
    return hr_member_bell_of(member, member->rank);
}

const struct hr_method hr_by_plan = {start, test, bell};
