/* Running collectives: the executor of plans, and the operations on top of it. */
#include <stdio.h>
#include <string.h>

#include "base/vec.h"
#include "group/group.h"

/* Operations; the algorithm's number is added so that ranks that chose differently are told. */
enum { ALL_REDUCE = 1, BROADCAST, BARRIER, REDUCE_APPLY, OPERATION_MASK = 0xff };

enum { POLLS_A_LOOK = 8 }; /* twice while hr_wait_until spins, five times a second when parked */

static uint64_t kind_of(const struct hr_member *member, uint64_t operation)
{
    uint64_t number = 0;
    while (operation == ALL_REDUCE && hr_algorithm_at(number) != member->options.algorithm)
        number++;
    return operation | number << 8;
}

static void describe(char *text, size_t size, size_t rank, const struct hr_call *call)
{
    static const char *const names[] = {"nothing", "all_reduce", "broadcast", "barrier",
                                        "reduce_apply"};
    const uint64_t operation = call->kind & OPERATION_MASK;
    const struct hr_algorithm *algorithm = hr_algorithm_at(call->kind >> 8);
    snprintf(text, size, "rank %zu called %s%s%s number %llu of %llu floats, root %llu", rank,
             names[operation < 5 ? operation : 0], operation == ALL_REDUCE ? " " : "",
             operation == ALL_REDUCE && algorithm ? algorithm->name : "",
             (unsigned long long)call->sequence, (unsigned long long)call->count,
             (unsigned long long)call->root);
}

static enum hr_status mismatch(const struct hr_member *member, size_t peer,
                               const struct hr_call *theirs)
{
    char mine[160], other[160];
    describe(mine, sizeof mine, member->rank, &member->call);
    describe(other, sizeof other, peer, theirs);
    return hr_fail(HR_E_MISMATCH, "%s; %s", mine, other);
}

/* --- one row --- */

static float *at_offset(const struct hr_member *member, uint64_t offset)
{
    return (float *)(void *)((unsigned char *)member->place.segment + offset);
}

static bool send_row(struct hr_member *member, const struct hr_row *row)
{
    struct hr_message *message = hr_ring_try_reserve_spsc(member->to[row->peer]);
    if (!message)
        return false;
    *message = (struct hr_message){
        .sequence = member->call.sequence,
        .kind = (uint32_t)member->call.kind,
        .from = (uint32_t)member->rank,
        .word = {member->call.count, member->call.root, row->chunk,
                 (uint64_t)((unsigned char *)member->buffer -
                            (unsigned char *)member->place.segment)},
    };
    hr_ring_commit_spsc(member->to[row->peer]);
    hr_bell_ring(&member->place.control->rank[row->peer].bell);
    return true;
}

static void acknowledge(struct hr_member *member, const struct hr_row *row)
{
    hr_ring_release_spsc(member->from[row->peer]);
    hr_bell_ring(&member->place.control->rank[row->peer].bell);
}

/* The fingerprint travels with every message, and is compared with every one. */
static bool check_message(struct hr_member *member, const struct hr_row *row,
                          const struct hr_message *message)
{
    const struct hr_call theirs = {message->sequence, message->kind, message->word[0],
                                   message->word[1]};
    if (memcmp(&theirs, &member->call, sizeof theirs) == 0 && message->word[2] == row->chunk)
        return true;
    member->status = mismatch(member, row->peer, &theirs);
    return false;
}

/* A row waits for ever when the rank that it waits for has called something else, and sends
 * nothing. So every now and then we look at what all others say. True: one differs, and the status
 * says so. */
static bool contradicted(struct hr_member *member)
{
    struct hr_call theirs;
    if (++member->polls % POLLS_A_LOOK != 0)
        return false;
    for (size_t r = 0; r < member->options.nranks && member->status == HR_OK; r++)
        if (hr_seat_said(&member->attendance.meeting->seat[r], member->call.sequence, &theirs) &&
            memcmp(&theirs, &member->call, sizeof theirs) != 0)
            member->status = mismatch(member, r, &theirs);
    return member->status != HR_OK;
}

static void sum_row(struct hr_member *member, bool to_all, size_t begin, size_t count)
{
    const size_t n = member->options.nranks;
    float *out[HR_MAX_RANKS];
    const float *in[HR_MAX_RANKS];
    for (size_t r = 0; r < n; r++)
        in[r] = out[r] =
            (r == member->rank ? member->buffer : at_offset(member, member->peer_offset[r])) +
            begin;
    if (!to_all)
        out[0] = member->buffer + begin;
    hr_vec_tree_sum(out, to_all ? n : 1, in, n, count);
}

static bool receive_row(struct hr_member *member, const struct hr_row *row, size_t begin,
                        size_t count)
{
    const struct hr_message *message = hr_ring_peek_spsc(member->from[row->peer]);
    if (!message)
        return false;
    if (!check_message(member, row, message))
        return true;
    member->peer_offset[row->peer] = message->word[3];
    const float *theirs = at_offset(member, message->word[3]) + begin;
    if (row->action == HR_ADD)
        hr_vec_add(member->buffer + begin, theirs, count);
    else if (row->action == HR_COPY && count)
        memcpy(member->buffer + begin, theirs, count * sizeof *theirs);
    acknowledge(member, row);
    return true;
}

static bool drained(const struct hr_member *member)
{
    for (size_t r = 0; r < member->options.nranks; r++)
        if (member->to[r] && !hr_ring_drained_spsc(member->to[r]))
            return false;
    return true;
}

/* Do one row; false when it has to wait. */
static bool do_row(struct hr_member *member, const struct hr_row *row)
{
    const size_t begin = hr_chunk_begin(member->call.count, member->plan->nchunks, row->chunk);
    const size_t end = hr_chunk_begin(member->call.count, member->plan->nchunks, row->chunk + 1u);
    switch ((enum hr_action)row->action) {
    case HR_SEND:
        return send_row(member, row);
    case HR_RECV:
    case HR_ADD:
    case HR_COPY:
        return receive_row(member, row, begin, end - begin);
    case HR_SUM:
    case HR_SHARE:
        sum_row(member, row->action == HR_SHARE, begin, end - begin);
        return true;
    case HR_DRAIN:
        return drained(member);
    }
    return true;
}

/* --- operations --- */

/* The accounts follow from the rows, whether they are walked or a meeting does the same. What a
 * rank shares it has sent; so a send behind it only says so, and a recv behind it was shared by
 * the peer. */
static void account(struct hr_member *member, const struct hr_plan *plan, size_t count)
{
    const uint64_t others = member->options.nranks - 1;
    bool shared = false;
    for (size_t i = 0; i < plan->nrows; i++) {
        const struct hr_row *row = &plan->rows[i];
        const uint64_t bytes = (hr_chunk_begin(count, plan->nchunks, row->chunk + 1u) -
                                hr_chunk_begin(count, plan->nchunks, row->chunk)) *
                               sizeof(float);
        const bool adds = row->action == HR_SUM || row->action == HR_SHARE;
        const bool takes = row->action == HR_ADD || row->action == HR_COPY;
        shared = shared || row->action == HR_SHARE;
        if (adds)
            member->bytes_received += others * bytes;
        if (row->action == HR_SHARE)
            member->bytes_sent += others * bytes;
        if (row->action == HR_SEND && !shared)
            member->bytes_sent += bytes;
        if (takes || (row->action == HR_RECV && shared))
            member->bytes_received += bytes;
    }
}

static void start(struct hr_member *member, uint64_t operation, float *buffer, size_t count,
                  size_t root, const struct hr_plan *plan)
{
    member->call.sequence++;
    member->call.kind = kind_of(member, operation);
    member->call.count = count;
    member->call.root = root;
    member->buffer = buffer;
    member->plan = plan;
    member->row = member->polls = 0;
    member->status = HR_OK;
    hr_seat_say(&member->attendance.meeting->seat[member->rank], &member->call);
    if (plan || hr_meeting_enter(&member->attendance, &member->call, buffer, count))
        return;
    const size_t peer = (size_t)member->attendance.odd_one_out;
    member->status = mismatch(member, peer, &member->attendance.meeting->seat[peer].call);
}

bool hr_can_apply(const struct hr_group_options *options)
{
    return options->algorithm->meets && !options->plan_only;
}

/* A sum at a meeting. */
static void start_meeting(struct hr_member *member, uint64_t operation, float *buffer, size_t count,
                          hr_apply_fn apply, void *arg)
{
    member->attendance.apply = apply;
    member->attendance.apply_arg = arg;
    account(member, &member->all_reduce, count);
    start(member, operation, buffer, count, 0, NULL);
}

void hr_all_reduce_start(struct hr_member *member, float *buffer, size_t count)
{
    if (hr_can_apply(&member->options))
        start_meeting(member, ALL_REDUCE, buffer, count, NULL, NULL);
    else {
        account(member, &member->all_reduce, count);
        start(member, ALL_REDUCE, buffer, count, 0, &member->all_reduce);
    }
}

void hr_reduce_apply_start(struct hr_member *member, float *buffer, size_t count, hr_apply_fn apply,
                           void *arg)
{
    HR_ASSERT(hr_can_apply(&member->options));
    start_meeting(member, REDUCE_APPLY, buffer, count, apply, arg);
}

void hr_broadcast_start(struct hr_member *member, float *buffer, size_t count, size_t root)
{
    enum hr_status status = HR_OK;
    if (root != member->broadcast_root) {
        member->broadcast.nrows = 0;
        member->broadcast_root = root;
        status =
            hr_broadcast_flat.plan(&member->broadcast, member->rank, member->options.nranks, root);
    }
    account(member, &member->broadcast, count);
    start(member, BROADCAST, buffer, count, root, &member->broadcast);
    if (status != HR_OK)
        member->status = status;
}

void hr_barrier_start(struct hr_member *member)
{
    start(member, BARRIER, NULL, 0, 0, NULL);
}

bool hr_collective_test(void *arg)
{
    struct hr_member *member = arg;
    if (member->status != HR_OK)
        return true;
    if (!member->plan)
        return hr_meeting_test(&member->attendance);
    while (member->row < member->plan->nrows) {
        if (!do_row(member, &member->plan->rows[member->row]))
            return contradicted(member);
        if (member->status != HR_OK)
            return true;
        member->row++;
    }
    return true;
}

struct hr_bell *hr_collective_bell(struct hr_member *member)
{
    return member->plan ? &member->place.control->rank[member->rank].bell
                        : &member->attendance.meeting->bell;
}

enum hr_status hr_collective_finish(struct hr_member *member)
{
    return member->status;
}

static enum hr_status wait_for(struct hr_member *member, const char *what)
{
    HR_TRY(hr_wait_until(member->place.waiter, hr_collective_bell(member), hr_collective_test,
                         member, what));
    return hr_collective_finish(member);
}

enum hr_status hr_all_reduce(struct hr_member *member, float *buffer, size_t count)
{
    hr_all_reduce_start(member, buffer, count);
    return wait_for(member, "all_reduce");
}

enum hr_status hr_broadcast(struct hr_member *member, float *buffer, size_t count, size_t root)
{
    hr_broadcast_start(member, buffer, count, root);
    return wait_for(member, "broadcast");
}

enum hr_status hr_barrier(struct hr_member *member)
{
    hr_barrier_start(member);
    return wait_for(member, "barrier");
}
