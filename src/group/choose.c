#include "group/choose.h"

/* Bytes; beyond, it pays that who is early helps who is late. */
enum { LARGEST_BY_STRIPES = 128 << 10 };

static struct hr_choice choose_all_reduce(const struct hr_member *member, const struct hr_job *job)
{
    const struct hr_group_options *o = &member->options;
    const struct hr_place *place = &member->place;
    const bool is_auto = o->algorithm == &hr_allreduce_auto;
    const size_t bytes = hr_job_bytes(job);
    const bool small = bytes <= HR_NOTICE_BYTES;
    const bool reached =
        hr_place_reaches(place, job->in, bytes) && hr_place_reaches(place, job->out, bytes);
    if (o->plan_only || o->copies)
        return (struct hr_choice){HR_BY_PLAN, is_auto ? &hr_allreduce_direct : o->algorithm, false};
    if (is_auto && small && (!reached || (!o->crowded && bytes <= o->one_shot_bytes)))
        return (struct hr_choice){HR_BY_NOTICES, &hr_allreduce_one_shot, false};
    if (is_auto || o->algorithm == &hr_allreduce_direct) {
        const bool meets = reached && (o->crowded || bytes > LARGEST_BY_STRIPES);
        return (struct hr_choice){meets ? HR_BY_MEETING : HR_BY_STRIPES, &hr_allreduce_direct,
                                  !reached};
    }
    if (o->algorithm == &hr_allreduce_one_shot && small)
        return (struct hr_choice){HR_BY_NOTICES, o->algorithm, false};
    return (struct hr_choice){HR_BY_PLAN, o->algorithm, false};
}

static struct hr_choice choose(const struct hr_member *member, const struct hr_job *job)
{
    switch (job->operation) {
    case HR_OP_ALL_REDUCE:
        return choose_all_reduce(member, job);
    case HR_OP_REDUCE_APPLY:
        return (struct hr_choice){HR_BY_MEETING, NULL, false};
    case HR_OP_BARRIER:
        return (struct hr_choice){member->options.crowded ? HR_BY_MEETING : HR_BY_NOTICES, NULL,
                                  false};
    default:
        return (struct hr_choice){HR_BY_PLAN, NULL, false};
    }
}

struct hr_choice hr_choose(const struct hr_member *member, const struct hr_job *job)
{
    struct hr_choice choice = choose(member, job);
    if (member->local)
        choice.way = HR_BY_HALL;
    return choice;
}
