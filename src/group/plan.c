#include "group/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "shm/atom.h"

static const struct hr_algorithm *const algorithms[] = {
    &hr_allreduce_direct,
    &hr_allreduce_ring,
    &hr_allreduce_master_worker,
};

enum { NALGORITHMS = sizeof algorithms / sizeof *algorithms };

const struct hr_algorithm *hr_algorithm_at(size_t i)
{
    return i < NALGORITHMS ? algorithms[i] : NULL;
}

enum hr_status hr_algorithm_find(const char *name, const struct hr_algorithm **out)
{
    char known[128] = "auto";
    for (size_t i = 0; i < NALGORITHMS; i++) {
        if (!strcmp(name, algorithms[i]->name) || (i == 0 && !strcmp(name, "auto"))) {
            *out = algorithms[i];
            return HR_OK;
        }
        const size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, ", %s", algorithms[i]->name);
    }
    return hr_fail(HR_E_USAGE, "--algorithm %s: there is no such algorithm (there are: %s)", name,
                   known);
}

enum hr_status hr_plan_add(struct hr_plan *plan, size_t step, enum hr_action action, size_t peer,
                           size_t chunk)
{
    if (plan->nrows == plan->capacity) {
        const size_t capacity = plan->capacity ? 2 * plan->capacity : 16;
        struct hr_row *rows = realloc(plan->rows, capacity * sizeof *rows);
        if (!rows)
            return hr_fail(HR_E_NOMEM, "no memory for a plan of %zu rows", capacity);
        plan->rows = rows;
        plan->capacity = capacity;
    }
    plan->rows[plan->nrows++] =
        (struct hr_row){(uint16_t)step, (uint16_t)peer, (uint16_t)chunk, (uint8_t)action};
    return HR_OK;
}

void hr_plan_fini(struct hr_plan *plan)
{
    free(plan->rows);
    *plan = (struct hr_plan){0};
}

size_t hr_chunk_begin(size_t count, size_t nchunks, size_t chunk)
{
    const size_t line = HR_LINE / sizeof(float), lines = (count + line - 1) / line;
    return hr_min_size(count, hr_cut(lines, nchunks, chunk) * line);
}
