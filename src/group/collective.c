/* Operations: the way each takes, its fingerprint, and seeing it through. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "group/choose.h"
#include "group/local_group.h"
#include "group/lane.h"
#include "launch/peer_watch.h"
#include "group/mail.h"
#include "group/planned.h"

enum {
    MAIL_LOOK_NS = 100 * 1000, /* how soon a rank in a collective looks after its messages again */
    POLLS_A_LOOK = 256,        /* at the others' calls, by a rank that never sleeps */
};

/* --- the accounts --- */

static void account(struct hr_member *member, size_t peer, uint64_t bytes, uint64_t messages)
{
    struct hr_traffic *traffic = &member->traffic[peer];
    traffic->bytes_sent += bytes;
    traffic->bytes_received += bytes;
    traffic->messages_sent += messages;
    traffic->messages_received += messages;
}

/* The parts of others' stripes go there, and the own stripe's sum; as much comes back. */
void hr_member_account_direct(struct hr_member *member, size_t count)
{
    const size_t n = member->options.nranks;
    const struct hr_layout layout = {
        .count = count, .elem_bytes = hr_type_bytes(member->job.kind.type), .nchunks = n};
    const uint64_t mine = hr_layout_region(&layout, member->rank, 1).bytes;
    for (size_t r = 0; r < n; r++)
        if (r != member->rank)
            account(member, r, mine + hr_layout_region(&layout, r, 1).bytes, 2);
}

/* Notices, as the plan of one-shot would. */
static void account_notices(struct hr_member *member)
{
    for (size_t r = 0; r < member->options.nranks; r++)
        if (r != member->rank)
            account(member, r, hr_job_bytes(&member->job), 1);
}

struct hr_traffic hr_member_traffic(const struct hr_member *member)
{
    struct hr_traffic sum = {0};
    if (member->local)
        return hr_local_group_traffic(member->local, member->rank);
    for (size_t r = 0; r < member->options.nranks; r++) {
        sum.bytes_sent += member->traffic[r].bytes_sent;
        sum.bytes_received += member->traffic[r].bytes_received;
        sum.messages_sent += member->traffic[r].messages_sent;
        sum.messages_received += member->traffic[r].messages_received;
    }
    return sum;
}

/* --- start --- */

static void start_meeting(struct hr_member *member)
{
    const struct hr_job *job = &member->job;
    struct hr_attendance *attendance = &member->attendance;
    attendance->kind = job->kind;
    attendance->count = job->operation == HR_OP_BARRIER ? 0 : job->count;
    attendance->apply = job->apply;
    attendance->apply_arg = job->apply_arg;
    if (job->operation != HR_OP_BARRIER)
        hr_member_account_direct(member, job->count);
    if (hr_meeting_enter(attendance, &member->call, job->in, job->out))
        return;
    const size_t peer = (size_t)attendance->odd_one_out;
    member->status =
        hr_member_mismatch(member, &member->call, peer, &attendance->meeting->seat[peer].call);
}

static void start_notices(struct hr_member *member)
{
    const struct hr_job *job = &member->job;
    if (job->operation != HR_OP_BARRIER)
        account_notices(member);
    hr_notices_post(&member->notices, &member->call, job->in,
                    job->operation == HR_OP_BARRIER ? 0 : hr_job_bytes(job));
}

static void start_plan(struct hr_member *member, const struct hr_algorithm *algorithm)
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
                                   .group_size = member->options.group_size,
                                   .in_place = ex->base[HR_IN] == ex->base[HR_OUT]};
    member->status = hr_planned_find(member->planned, job->operation, algorithm, &of, &plan);
    if (member->status == HR_OK)
        member->status = hr_executor_start(ex, plan);
}

void hr_member_start(struct hr_member *member, const struct hr_job *job)
{
    const struct hr_choice choice = hr_choose(member, job);
    member->job = *job;
    member->way = choice.way;
    member->call.sequence++;
    member->call.count = job->count;
    member->call.kind =
        hr_call_kind(job->operation, choice.algorithm, job->kind, choice.own_memory);
    member->call.root = (uint32_t)job->root;
    member->polls = 0;
    member->over = false;
    member->status = HR_OK;
    if (HR_SAFETY && choice.way != HR_BY_HALL) {
        hr_seat_say(&member->attendance.meeting->seat[member->rank], &member->call);
        hr_flight_begin(member->flight, member->call.sequence, member->call.kind,
                        member->place.number, member->call.count, hr_clock_coarse_ns());
    }
    if (choice.way == HR_BY_HALL)
        hr_local_group_enter(member, choice.algorithm);
    else if (choice.way == HR_BY_MEETING)
        start_meeting(member);
    else if (choice.way == HR_BY_NOTICES)
        start_notices(member);
    else if (choice.way == HR_BY_STRIPES)
        hr_stripes_start(member, choice.own_memory);
    else
        start_plan(member, choice.algorithm);
}

/* --- seeing it through --- */

/* A rank waits for ever when the one that it waits for has called something else. So whenever it
 * has slept we look at what all others say; not before, since looking takes their lines away from
 * them. Who never sleeps looks now and then. True: one differs, and the status says so. */
static bool contradicted(struct hr_member *member)
{
    const struct hr_waiter *waiter = member->place.waiter;
    struct hr_call theirs;
    const bool slept = waiter && waiter->parks != member->parks;
    if (!HR_SAFETY || !(slept || ++member->polls % POLLS_A_LOOK == 0))
        return false;
    member->parks = waiter ? waiter->parks : 0;
    for (size_t r = 0; r < member->options.nranks && member->status == HR_OK; r++)
        if (hr_seat_said(&member->attendance.meeting->seat[r], member->call.sequence, &theirs) &&
            !hr_call_equal(&theirs, &member->call))
            member->status = hr_member_mismatch(member, &member->call, r, &theirs);
    return member->status != HR_OK;
}

/* All have posted: compare the calls. */
bool hr_member_notices_agree(struct hr_member *member)
{
    for (size_t r = 0; HR_SAFETY && r < member->options.nranks; r++) {
        const struct hr_call *theirs = &hr_notices_slot(&member->notices, r)->call;
        if (!hr_call_equal(theirs, &member->call)) {
            member->status = hr_member_mismatch(member, &member->call, r, theirs);
            return false;
        }
    }
    return true;
}

/* Reduce what was posted. */
static void reduce_notices(struct hr_member *member)
{
    const void *in[HR_MAX_RANKS];
    hr_place_moves(&member->place);
    for (size_t r = 0; r < member->options.nranks; r++)
        in[r] = hr_notices_slot(&member->notices, r)->payload;
    if (member->job.operation != HR_OP_BARRIER)
        hr_element_tree(member->job.kind, &member->job.out, 1, in, member->options.nranks,
                        member->job.count);
}

static bool test_way(struct hr_member *member)
{
    switch (member->way) {
    case HR_BY_MEETING:
        return hr_meeting_test(&member->attendance);
    case HR_BY_NOTICES:
        if (!hr_notices_complete(&member->notices))
            return false;
        if (hr_member_notices_agree(member))
            reduce_notices(member);
        return true;
    case HR_BY_STRIPES:
        return hr_stripes_test(member);
    case HR_BY_PLAN:
        return hr_executor_test(member);
    case HR_BY_HALL:
        return hr_local_group_test(member);
    }
    return true;
}

/* A mean is divided where the sum is complete: by each rank, in its own output. */
static void divide(struct hr_member *member)
{
    const struct hr_job *job = &member->job;
    const struct hr_operation_facts *facts = hr_operation_facts(job->operation);
    if (facts->reduces && job->out && !(facts->rooted && member->rank != job->root))
        hr_element_mean(job->kind, job->out, member->options.nranks, job->count);
}

bool hr_member_test(void *arg)
{
    struct hr_member *member = arg;
    if (member->over || member->status != HR_OK)
        return true;
    member->over = test_way(member) || member->status != HR_OK;
    if (!member->over)
        return member->way != HR_BY_HALL && contradicted(member);
    if (member->status == HR_OK && member->job.kind.redop == HR_MEAN)
        divide(member);
    if (HR_SAFETY && member->flight &&
        member->status == HR_OK) /* what failed stays unfinished in the record */
        hr_flight_end(member->flight, hr_clock_coarse_ns());
    return true;
}

struct hr_bell *hr_member_bell_of(const struct hr_member *member, size_t rank)
{
    const struct hr_place *place = &member->place;
    return &place->control->rank[hr_place_world_rank(place, rank)].bell;
}

struct hr_bell *hr_member_bell(struct hr_member *member)
{
    switch (member->way) {
    case HR_BY_MEETING:
        return &member->attendance.meeting->bell;
    case HR_BY_NOTICES:
    case HR_BY_STRIPES:
        return hr_notices_bell(&member->notices);
    case HR_BY_PLAN:
        break;
    case HR_BY_HALL:
        return NULL;
    }
    return hr_member_bell_of(member, member->rank);
}

enum hr_status hr_member_finish(struct hr_member *member)
{
    return member->status;
}

/* Over, or to be parked elsewhere. Messages that are under way go on meanwhile; their bell may be
 * another than the one that a rank is parked on here, so it looks again before long. */
static bool is_elsewhere(void *arg)
{
    struct hr_member *member = arg;
    if (member->mail && hr_mail_progress(member->mail))
        member->place.waiter->alarm_ns = hr_clock_ns() + MAIL_LOOK_NS;
    return hr_member_test(member) || hr_member_bell(member) != member->parked_on;
}

/* What a rank was in last, as its recorder has it: " (barrier number 3 of group 1, finished)". */
static void describe_last(const struct hr_member *member, size_t rank, char *text, size_t size)
{
    const struct hr_place *place = &member->place;
    const struct hr_flight *flight =
        hr_control_flight(place->control, hr_place_world_rank(place, rank));
    struct hr_flight_entry last;
    char call[160];
    if (!hr_flight_read(flight, 0, &last)) {
        snprintf(text, size, " (it has called nothing)");
        return;
    }
    hr_call_describe(call, sizeof call, &(struct hr_call){last.sequence, last.count, last.kind, 0});
    snprintf(text, size, " (last: %s%s%.0u%s)", call, last.group ? " of group " : "", last.group,
             last.end_ns ? ", finished" : "");
}

/* A wait that passed its deadline: who has not come, and what is the first of them in? */
static enum hr_status name_missing(const struct hr_member *member)
{
    char missing[240] = "", waited[120], call[160], last[220], stopped[130];
    hr_peer_watch_stopped(member->place.waiter, member->place.control, stopped, sizeof stopped);
    snprintf(waited, sizeof waited, "%s", hr_error_message());
    hr_call_describe(call, sizeof call, &member->call);
    for (size_t r = 0; r < member->options.nranks; r++) {
        const size_t used = strlen(missing);
        if (hr_seat_sequence(&member->attendance.meeting->seat[r]) >= member->call.sequence)
            continue;
        last[0] = '\0';
        if (!used)
            describe_last(member, r, last, sizeof last);
        snprintf(missing + used, sizeof missing - used, "%s%zu%s", used ? ", " : "", r, last);
    }
    return hr_fail(HR_E_TIMEOUT, "%s: %s %s%s%s", waited, call,
                   missing[0] ? "was not called by rank " : "was called by all ranks", missing,
                   stopped);
}

enum hr_status hr_member_name_failure(const struct hr_member *member, const char *what)
{
    char text[400];
    const enum hr_status first = hr_control_failure(member->place.control);
    snprintf(text, sizeof text, "%s", hr_error_message());
    return hr_fail(first == HR_E_LOST ? HR_E_LOST : HR_E_ABORTED,
                   "another rank failed while this one waited for %s: %s", what, text);
}

enum hr_status hr_member_wait(struct hr_member *member)
{
    const char *what = hr_operation_facts(member->job.operation)->name;
    while (!hr_member_test(member)) {
        HR_ASSERT(!member->local); /* the thread that plays all ranks would wait for itself */
        member->parked_on = hr_member_bell(member);
        const enum hr_status status =
            hr_wait_until(member->place.waiter, member->parked_on, is_elsewhere, member, what);
        if (status == HR_E_TIMEOUT)
            return name_missing(member);
        if (status == HR_E_ABORTED)
            return hr_member_name_failure(member, what);
        HR_TRY(status);
    }
    return hr_member_finish(member);
}

/* --- what training needs --- */

bool hr_can_apply(const struct hr_group_options *options)
{
    return options->algorithm == &hr_allreduce_direct && !options->plan_only && !options->copies;
}

void hr_member_all_reduce_start(struct hr_member *member, float *buffer, size_t count)
{
    hr_member_all_reduce_part_start(member, buffer, 0, count);
}

void hr_member_all_reduce_part_start(struct hr_member *member, float *buffer, size_t first,
                                     size_t count)
{
    hr_member_start(member, &(struct hr_job){.operation = HR_OP_ALL_REDUCE,
                                             .in = buffer,
                                             .out = buffer,
                                             .count = count,
                                             .first = first});
}

void hr_member_reduce_apply_start(struct hr_member *member, float *buffer, size_t count,
                                  hr_apply_fn apply, void *arg)
{
    HR_ASSERT(hr_can_apply(&member->options));
    hr_member_start(member, &(struct hr_job){.operation = HR_OP_REDUCE_APPLY,
                                             .in = buffer,
                                             .count = count,
                                             .apply = apply,
                                             .apply_arg = arg});
}

enum hr_status hr_member_all_reduce(struct hr_member *member, float *buffer, size_t count)
{
    hr_member_all_reduce_start(member, buffer, count);
    return hr_member_wait(member);
}

enum hr_status hr_member_broadcast(struct hr_member *member, float *buffer, size_t count,
                                   size_t root)
{
    hr_member_start(member, &(struct hr_job){.operation = HR_OP_BROADCAST,
                                             .in = buffer,
                                             .out = buffer,
                                             .count = count,
                                             .root = root});
    return hr_member_wait(member);
}

enum hr_status hr_member_barrier(struct hr_member *member)
{
    hr_member_start(member, &(struct hr_job){.operation = HR_OP_BARRIER});
    return hr_member_wait(member);
}
