/* planned.h - the plans that a rank has made so far: the latest of each operation is kept, since
 * programs call the same again and again.
 */
#ifndef HR_GROUP_PLANNED_H
#define HR_GROUP_PLANNED_H

#include "plan/layout.h"

struct hr_planned;

HR_CHECKED enum hr_status hr_planned_create(struct hr_planned **out);
void hr_planned_destroy(struct hr_planned *planned);

/* The plan of an operation (of an algorithm, where that is an all_reduce), made if need be; valid
 * until the operation's next call. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_planned_find(struct hr_planned *planned, enum hr_operation operation,
                                          const struct hr_algorithm *algorithm,
                                          const struct hr_plan_for *of, const struct hr_plan **out);

#endif
