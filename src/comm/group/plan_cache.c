#include "group/plan_cache.h"

#include <stdlib.h>

struct entry {
    bool made;
    const struct hr_algorithm *algorithm;
    struct hr_plan_for of;
    struct hr_plan plan;
};

struct hr_plan_cache {
    struct entry entry[HR_OPERATIONS];
};

enum hr_status hr_plan_cache_create(struct hr_plan_cache **out)
{
    *out = calloc(1, sizeof **out);
    return *out ? HR_OK : hr_fail(HR_E_NOMEM, "no memory for a rank's plans");
}

void hr_plan_cache_destroy(struct hr_plan_cache *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i < HR_OPERATIONS; i++)
        hr_plan_fini(&cache->entry[i].plan);
    free(cache);
}

static bool is_for(const struct entry *entry, const struct hr_algorithm *algorithm,
                   const struct hr_plan_for *of)
{
    const struct hr_plan_for *is = &entry->of;
    return entry->made && entry->algorithm == algorithm && is->rank == of->rank && is->n == of->n &&
           is->root == of->root && is->group_size == of->group_size && is->upper == of->upper &&
           is->in_place == of->in_place;
}

enum hr_status hr_plan_cache_find(struct hr_plan_cache *cache, enum hr_operation operation,
                                  const struct hr_algorithm *algorithm,
                                  const struct hr_plan_for *of, const struct hr_plan **out)
{
    struct entry *entry = &cache->entry[operation];
    const hr_plan_fn make = algorithm ? algorithm->plan : hr_operation_facts(operation)->plan;
    *out = &entry->plan;
    if (is_for(entry, algorithm, of))
        return HR_OK;
    HR_ASSERT(make);
    entry->made = false;
    entry->algorithm = algorithm;
    entry->of = *of;
    entry->plan.nrows = 0;
    entry->plan.uses_scratch = false;
    entry->plan.run = 0;
    HR_TRY(make(&entry->plan, of));
    entry->made = true;
    return HR_OK;
}
