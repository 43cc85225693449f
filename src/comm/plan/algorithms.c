/* From a name to its algorithm (algorithms.h); this file calls all of them, and none calls it. */
#include <stdio.h>
#include <string.h>

#include "plan/plan.h"

const struct hr_algorithm hr_allreduce_auto = {
    .name = "auto",
    .order = "T(n), leaves in rank order",
    .tree_order = true,
};

#define ENTRY(name) &hr_allreduce_##name,
static const struct hr_algorithm *const algorithms[] = {HR_ALLREDUCES(ENTRY)};

enum { NALGORITHMS = sizeof algorithms / sizeof *algorithms };

const struct hr_algorithm *hr_algorithm_at(size_t i)
{
    return i < NALGORITHMS ? algorithms[i] : NULL;
}

size_t hr_algorithm_number(const struct hr_algorithm *algorithm)
{
    size_t i = 0;
    while (i < NALGORITHMS && algorithms[i] != algorithm)
        i++;
    HR_ASSERT(i < NALGORITHMS);
    return i;
}

enum hr_status hr_algorithm_find(const char *name, const struct hr_algorithm **out)
{
    char known[256] = "";
    for (size_t i = 0; i < NALGORITHMS; i++) {
        if (!strcmp(name, algorithms[i]->name)) {
            *out = algorithms[i];
            return HR_OK;
        }
        const size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", algorithms[i]->name);
    }
    return hr_fail(HR_E_USAGE, "--algorithm %s: there is no such algorithm (there are: %s)", name,
                   known);
}
