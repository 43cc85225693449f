#include "group/choose.h"

#include "group/local_group.h"

/* Bytes; for more, it pays that early ranks sum blocks of late ones. */
enum { LARGEST_BY_DIRECT = 128 << 10 };

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
        return (struct hr_choice){&hr_by_plan, is_auto ? &hr_allreduce_direct : o->algorithm,
                                  false};
    if (is_auto && small && (!reached || (!o->crowded && bytes <= o->one_shot_bytes)))
        return (struct hr_choice){&hr_by_one_shot, &hr_allreduce_one_shot, false};
    if (is_auto || o->algorithm == &hr_allreduce_direct) {
        const bool meets = reached && (o->crowded || bytes > LARGEST_BY_DIRECT);
        return (struct hr_choice){meets ? &hr_by_reduce_barrier : &hr_by_direct,
                                  &hr_allreduce_direct, !reached};
    }
    if (o->algorithm == &hr_allreduce_one_shot && small)
        return (struct hr_choice){&hr_by_one_shot, o->algorithm, false};
    return (struct hr_choice){&hr_by_plan, o->algorithm, false};
}

static struct hr_choice choose(const struct hr_member *member, const struct hr_job *job)
{
    switch (job->operation) {
    case HR_OP_ALL_REDUCE:
        return choose_all_reduce(member, job);
    case HR_OP_REDUCE_APPLY:
        return (struct hr_choice){&hr_by_reduce_barrier, NULL, false};
    case HR_OP_BARRIER:
        return (struct hr_choice){member->options.crowded ? &hr_by_reduce_barrier : &hr_by_one_shot,
                                  NULL, false};
    default:
        return (struct hr_choice){&hr_by_plan, NULL, false};
    }
}

struct hr_choice hr_choose(const struct hr_member *member, const struct hr_job *job)
{
    struct hr_choice choice = choose(member, job);
    if (member->local)
        choice.method = &hr_by_local_group;
    return choice;
}
