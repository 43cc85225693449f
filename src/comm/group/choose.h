/* choose.h - by which method (member.h) and algorithm an operation is done.
 *
 * The choice depends on the call and on the group's options alone, so all ranks choose alike.
 * Methods besides plans exist for the algorithms direct and one-shot; they give what those plans
 * give, to the bit.
 */
#ifndef HR_GROUP_CHOOSE_H
#define HR_GROUP_CHOOSE_H

#include "group/member.h"

/* Between machines everything goes by plan: how an operation on so many bytes does. */
struct hr_choice hr_choose_apart(const struct hr_group_options *options,
                                 enum hr_operation operation, size_t bytes);

struct hr_choice hr_choose(const struct hr_member *member, const struct hr_job *job);

#endif
