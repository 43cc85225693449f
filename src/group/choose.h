/* choose.h - which way an operation goes (group.h lists the ways), and by which algorithm.
 *
 * The choice depends on the call and on the group's options alone, so all ranks choose alike. The
 * fast ways exist for the algorithms direct and one-shot; what they give is what those plans give,
 * to the bit.
 */
#ifndef HR_GROUP_CHOOSE_H
#define HR_GROUP_CHOOSE_H

#include "group/group.h"

struct hr_choice {
    enum hr_way way;
    const struct hr_algorithm *algorithm; /* of an all_reduce, else NULL */
    bool own_memory;                      /* it goes this way since the others do not reach it */
};

struct hr_choice hr_choose(const struct hr_member *member, const struct hr_job *job);

static inline size_t hr_job_bytes(const struct hr_job *job)
{
    return job->count * hr_type_bytes(job->kind.type);
}

#endif
