/* plan_cache.h - plans made so far: the latest of each operation is kept, since
 * programs call the same again and again.
 */
#ifndef HR_GROUP_PLAN_CACHE_H
#define HR_GROUP_PLAN_CACHE_H

#include "plan/layout.h"

struct hr_plan_cache;

HR_CHECKED enum hr_status hr_plan_cache_create(struct hr_plan_cache **out);
void hr_plan_cache_destroy(struct hr_plan_cache *cache);

/* The plan of an operation (of an algorithm, where that is an all_reduce), made if need be; valid
 * until the operation's next call. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_plan_cache_find(struct hr_plan_cache *cache,
                                             enum hr_operation operation,
                                             const struct hr_algorithm *algorithm,
                                             const struct hr_plan_for *of,
                                             const struct hr_plan **out);

#endif
