/* Operations: begun by the method chosen, compared with the other ranks', seen through. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "group/choose.h"
#include "group/local_group.h"
#include "launch/join.h"
#include "group/p2p.h"

enum {
    P2P_LOOK_NS = 100 * 1000, /* how often a rank in a collective looks after its messages */
    POLLS_A_LOOK = 256,       /* at the others' calls, by a rank that never sleeps */
};

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

void hr_member_start(struct hr_member *member, const struct hr_job *job)
{
    const struct hr_choice choice = hr_choose(member, job);
    member->job = *job;
    member->choice = choice;
    member->call.sequence++;
    member->call.count = job->count;
    member->call.kind =
        hr_call_kind(job->operation, choice.algorithm, job->kind, choice.own_memory);
    member->call.root = (uint32_t)job->root;
    member->polls = 0;
    member->over = false;
    member->status = HR_OK;
    if (HR_SAFETY && !member->local) {
        hr_seat_say(&member->barrier.shared->seat[member->rank], &member->call);
        hr_flight_begin(member->flight, member->call.sequence, member->call.kind,
                        member->place.number, member->call.count, hr_clock_coarse_ns());
    }
    choice.method->start(member);
}

/* --- seeing it through --- */

/* Does some rank's call differ from ours? Then the two may wait for each other for ever. We look
 * whenever this rank has slept, not before, because reading the seats takes cache lines away from
 * their writers; a rank that never sleeps looks now and then. True: member->status says so. */
static bool contradicted(struct hr_member *member)
{
    const struct hr_waiter *waiter = member->place.waiter;
    struct hr_call theirs;
    const bool slept = waiter && waiter->parks != member->parks;
    if (!HR_SAFETY || !(slept || ++member->polls % POLLS_A_LOOK == 0))
        return false;
    member->parks = waiter ? waiter->parks : 0;
    for (size_t r = 0; r < member->options.nranks && member->status == HR_OK; r++)
        if (hr_seat_said(&member->barrier.shared->seat[r], member->call.sequence, &theirs) &&
            !hr_call_equal(&theirs, &member->call))
            member->status = hr_member_mismatch(member, &member->call, r, &theirs);
    return member->status != HR_OK;
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
    member->over = member->choice.method->test(member) || member->status != HR_OK;
    if (!member->over)
        return !member->local && contradicted(member);
    if (member->status == HR_OK && member->job.kind.redop == HR_MEAN)
        divide(member);
    if (HR_SAFETY && member->flight &&
        member->status == HR_OK) /* a failed call stays unfinished in the record */
        hr_flight_end(member->flight, hr_clock_coarse_ns());
    return true;
}

struct hr_bell *hr_member_bell(struct hr_member *member)
{
    return member->choice.method->bell(member);
}

enum hr_status hr_member_finish(struct hr_member *member)
{
    return member->status;
}

/* Is it over, or must the rank park on another bell? Its messages go on meanwhile; they may ring
 * another bell than the one it is parked on, so it sets an alarm to look again. */
static bool is_elsewhere(void *arg)
{
    struct hr_member *member = arg;
    if (member->p2p && hr_p2p_progress(member->p2p))
        member->place.waiter->alarm_ns = hr_clock_ns() + P2P_LOOK_NS;
    return hr_member_test(member) || hr_member_bell(member) != member->parked_on;
}

/* The last call of a rank, from its flight recorder: " (last: barrier number 3 of group 1,
 * finished)". */
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

/* A wait passed its deadline: name the ranks that have not made this call, and what the first of
 * them called last. */
static enum hr_status name_missing(const struct hr_member *member)
{
    char missing[240] = "", waited[120], call[160], last[220], stopped[130];
    hr_join_stopped(member->place.waiter, member->place.control, stopped, sizeof stopped);
    snprintf(waited, sizeof waited, "%s", hr_error_message());
    hr_call_describe(call, sizeof call, &member->call);
    for (size_t r = 0; r < member->options.nranks; r++) {
        const size_t used = strlen(missing);
        if (!hr_homes_together(&member->options.homes, r, member->rank) ||
            hr_seat_sequence(&member->barrier.shared->seat[r]) >= member->call.sequence)
            continue;
        last[0] = '\0';
        if (!used)
            describe_last(member, r, last, sizeof last);
        snprintf(missing + used, sizeof missing - used, "%s%zu%s", used ? ", " : "", r, last);
    }
    return hr_fail(HR_E_TIMEOUT, "%s: %s %s%s%s", waited, call,
                   missing[0] ? "was not called by rank "
                   : hr_homes_apart(&member->options.homes)
                       ? "was called by all ranks of this machine"
                       : "was called by all ranks",
                   missing, stopped);
}

enum hr_status hr_member_wait(struct hr_member *member)
{
    const char *what = hr_operation_facts(member->job.operation)->name;
    while (!hr_member_test(member)) {
        HR_ASSERT(!member->local); /* one thread is all ranks: it would wait for itself */
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
    return options->algorithm == &hr_allreduce_direct && !options->plan_only && !options->copies &&
           !hr_homes_apart(&options->homes);
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

static void exchange(struct hr_member *member, enum hr_operation operation, const uint32_t *in,
                     uint32_t *out, size_t count)
{
    hr_member_start(member, &(struct hr_job){.operation = operation,
                                             .kind = {.type = HR_INT32},
                                             .in = in,
                                             .out = out,
                                             .count = count});
}

void hr_member_all_to_all_start(struct hr_member *member, const uint32_t *in, uint32_t *out,
                                size_t count)
{
    exchange(member, HR_OP_ALL_TO_ALL, in, out, count);
}

void hr_member_all_gather_start(struct hr_member *member, const uint32_t *in, uint32_t *out,
                                size_t count)
{
    exchange(member, HR_OP_ALL_GATHER, in, out, count);
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
