#include "group/choose.h"

#include "group/local_group.h"

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
    while (each < o->nranks && hr_homes_together(&o->homes, 0, each))
        each++;
    for (size_t rank = 0; rank < o->nranks; rank++)
        if (o->nranks % each || !hr_homes_together(&o->homes, rank, rank / each * each) ||
            (rank >= each && hr_homes_together(&o->homes, rank, rank - each)))
            return 0;
    return each;
}

/* Of ranks that lie otherwise the sum has the bits of all others only by direct: T(n), whereas T
 * over nodes of T over a node's ranks is T(n) for powers of two. */
struct hr_choice hr_choose_apart(const struct hr_group_options *o, enum hr_operation operation,
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
    switch (job->operation) {
    case HR_OP_ALL_REDUCE:
        return choose_all_reduce(member, job);
    case HR_OP_REDUCE_APPLY:
        return (struct hr_choice){&hr_by_reduce_barrier, NULL, false, 0, NULL};
    case HR_OP_BARRIER:
        return (struct hr_choice){member->options.crowded ? &hr_by_reduce_barrier : &hr_by_one_shot,
                                  NULL, false, 0, NULL};
    default:
        return by_plan(&member->options, NULL);
    }
}

struct hr_choice hr_choose(const struct hr_member *member, const struct hr_job *job)
{
    if (hr_homes_apart(&member->options.homes))
        return hr_choose_apart(&member->options, job->operation, hr_job_bytes(job));
    struct hr_choice choice = choose(member, job);
    if (member->local)
        choice.method = &hr_by_local_group;
    return choice;
}
