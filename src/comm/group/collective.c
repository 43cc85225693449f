/* Operations of a group (group.h): by which method (posts.h, executor.h), begun, seen through. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "group/group.h"
#include "group/local_group.h"
#include "group/p2p.h"
#include "launch/join.h"

/* === by which method and algorithm an operation is done === */

/* Bytes; for more, it pays that early ranks sum blocks of late ones. */
enum { LARGEST_BY_DIRECT = 128 << 10 };

/* Among leaders of machines: up to here each has all of the others', in one step. Of two leaders
 * that is as many bytes as direct has, in half the steps. */
enum { LARGEST_BY_ONE_SHOT = 16 << 10, LARGEST_BY_ONE_SHOT_OF_TWO = 1 << 20 };

static struct hr_choice by_plan(const struct hr_group_options *o,
                                const struct hr_algorithm *algorithm)
{
    return (struct hr_choice){&hr_by_plan, algorithm, false, o->group_size, NULL};
}

/* How many ranks a machine has, where that is the same of all and their ranks lie together; else
 * 0. */
static size_t ranks_a_machine(const struct hr_group_options *o)
{
    size_t each = 1;
    while (each < o->nranks && hr_hosts_same(&o->hosts, 0, each))
        each++;
    for (size_t rank = 0; rank < o->nranks; rank++)
        if (o->nranks % each || !hr_hosts_same(&o->hosts, rank, rank / each * each) ||
            (rank >= each && hr_hosts_same(&o->hosts, rank, rank - each)))
            return 0;
    return each;
}

/* Of ranks that lie otherwise the sum has the bits of all others only by direct: T(n), whereas T
 * over nodes of T over a node's ranks is T(n) for powers of two. */
struct hr_choice hr_choose_multinode(const struct hr_group_options *o, enum hr_operation operation,
                                     size_t bytes)
{
    const bool is_auto = o->algorithm == &hr_allreduce_auto, barrier = operation == HR_OP_BARRIER;
    const size_t each = ranks_a_machine(o);
    const bool nodes = each && (each & (each - 1)) == 0;
    if (operation != HR_OP_ALL_REDUCE && !barrier)
        return by_plan(o, NULL);
    if (!nodes && barrier)
        return by_plan(o, &hr_allreduce_one_shot);
    if (!nodes && is_auto)
        return by_plan(o, &hr_allreduce_direct);
    if (!barrier && !is_auto && o->algorithm != &hr_allreduce_hierarchical)
        return by_plan(o, o->algorithm);
    struct hr_choice choice = by_plan(o, &hr_allreduce_hierarchical);
    if (!choice.group_size || barrier || is_auto)
        choice.group_size = each;
    const size_t most =
        o->nranks <= 2 * choice.group_size ? LARGEST_BY_ONE_SHOT_OF_TWO : LARGEST_BY_ONE_SHOT;
    choice.upper = bytes <= most ? &hr_allreduce_one_shot : &hr_allreduce_direct;
    return choice;
}

static struct hr_choice choose_all_reduce(const struct hr_member *member, const struct hr_job *job)
{
    const struct hr_group_options *o = &member->options;
    const struct hr_place *place = &member->place;
    const bool is_auto = o->algorithm == &hr_allreduce_auto;
    const size_t bytes = hr_job_bytes(job);
    const bool small = bytes <= HR_POST_BYTES;
    const bool reached =
        hr_place_reaches(place, job->in, bytes) && hr_place_reaches(place, job->out, bytes);
    if (o->plan_only || o->copies)
        return by_plan(o, is_auto ? &hr_allreduce_direct : o->algorithm);
    if (is_auto && small && (!reached || (!o->crowded && bytes <= o->one_shot_bytes)))
        return (struct hr_choice){&hr_by_one_shot, &hr_allreduce_one_shot, false, 0, NULL};
    if (is_auto || o->algorithm == &hr_allreduce_direct) {
        const bool meets = reached && (o->crowded || bytes > LARGEST_BY_DIRECT);
        return (struct hr_choice){meets ? &hr_by_reduce_barrier : &hr_by_direct,
                                  &hr_allreduce_direct, !reached, 0, NULL};
    }
    if (o->algorithm == &hr_allreduce_one_shot && small)
        return (struct hr_choice){&hr_by_one_shot, o->algorithm, false, 0, NULL};
    return by_plan(o, o->algorithm);
}

static struct hr_choice choose(const struct hr_member *member, const struct hr_job *job)
{
    const struct hr_group_options *o = &member->options;
    const bool barrier = job->operation == HR_OP_BARRIER;
    struct hr_choice choice = by_plan(o, NULL);
    if (hr_hosts_are_many(&o->hosts))
        return hr_choose_multinode(o, job->operation, hr_job_bytes(job));
    if (job->operation == HR_OP_ALL_REDUCE)
        choice = choose_all_reduce(member, job);
    else if (job->operation == HR_OP_REDUCE_APPLY || (barrier && o->crowded))
        choice = (struct hr_choice){.method = &hr_by_reduce_barrier};
    else if (barrier)
        choice = (struct hr_choice){.method = &hr_by_one_shot};
    if (member->local)
        choice.method = &hr_by_local_group;
    return choice;
}

/* === operations: begun by the method chosen, compared with the other ranks', seen through === */

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
    const struct hr_choice choice = choose(member, job);
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
        hr_barrier_entry_write(&member->barrier.shared->entry[member->rank], &member->call);
        hr_flight_begin(member->flight, member->call.sequence, member->call.kind,
                        member->place.number, member->call.count, hr_clock_coarse_ns());
    }
    choice.method->start(member);
}

/* --- seeing it through --- */

/* Does some rank's call differ from ours? Then the two may wait for each other for ever. We look
 * whenever this rank has slept, not before, because reading the entries takes cache lines away from
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
        if (hr_barrier_entry_read(&member->barrier.shared->entry[r], member->call.sequence,
                                  &theirs) &&
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
        if (!hr_hosts_same(&member->options.hosts, r, member->rank) ||
            hr_barrier_entry_sequence(&member->barrier.shared->entry[r]) >= member->call.sequence)
            continue;
        last[0] = '\0';
        if (!used)
            describe_last(member, r, last, sizeof last);
        snprintf(missing + used, sizeof missing - used, "%s%zu%s", used ? ", " : "", r, last);
    }
    return hr_fail(HR_E_TIMEOUT, "%s: %s %s%s%s", waited, call,
                   missing[0] ? "was not called by rank "
                   : hr_hosts_are_many(&member->options.hosts)
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
           !hr_hosts_are_many(&options->hosts);
}

void hr_member_all_reduce_start(struct hr_member *member, float *buffer, size_t first, size_t count)
{
    hr_member_start(member, &(struct hr_job){.operation = HR_OP_ALL_REDUCE,
                                             .in = buffer,
                                             .out = buffer,
                                             .count = count,
                                             .first = first});
}

void hr_member_reduce_apply_start(struct hr_member *member, float *buffer, size_t first,
                                  size_t count, hr_apply_fn apply, void *arg)
{
    HR_ASSERT(hr_can_apply(&member->options));
    hr_member_start(member, &(struct hr_job){.operation = HR_OP_REDUCE_APPLY,
                                             .in = buffer,
                                             .count = count,
                                             .first = first,
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

enum hr_status hr_member_barrier(struct hr_member *member)
{
    hr_member_start(member, &(struct hr_job){.operation = HR_OP_BARRIER});
    return hr_member_wait(member);
}
