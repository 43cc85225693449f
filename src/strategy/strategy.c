#include "strategy/strategy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/table.h"

static const struct hr_strategy *const strategies[] = {
    &hr_strategy_allreduce,      &hr_strategy_ps_sync,
    &hr_strategy_ps_async,       &hr_strategy_ssp,
    &hr_strategy_hogwild,        &hr_strategy_local_sgd,
    &hr_strategy_backup_workers, &hr_strategy_elastic_averaging,
};

enum { NSTRATEGIES = sizeof strategies / sizeof *strategies };

const struct hr_strategy *hr_strategy_at(size_t i)
{
    return i < NSTRATEGIES ? strategies[i] : NULL;
}

const struct hr_strategy *hr_strategy_recorded(const struct hr_strategy *strategy)
{
    return strategy == &hr_strategy_hogwild ? &hr_strategy_hogwild_recorded : strategy;
}

enum hr_status hr_strategy_find(const char *name, uint64_t staleness,
                                const struct hr_strategy **out)
{
    char known[256] = "";
    for (size_t i = 0; i < NSTRATEGIES; i++) {
        if (!strcmp(name, strategies[i]->name)) {
            const bool lockstep = strategies[i] == &hr_strategy_ssp && staleness == 0;
            *out = lockstep ? &hr_strategy_ps_sync : strategies[i];
            return HR_OK;
        }
        const size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", strategies[i]->name);
    }
    return hr_fail(HR_E_USAGE, "--strategy %s: there is no such strategy (there are: %s)", name,
                   known);
}

bool hr_strategy_obeys(const struct hr_strategy *strategy, const char *option)
{
    for (const char *const *name = strategy->options; *name; name++)
        if (!strcmp(*name, option))
            return true;
    return false;
}

enum hr_status hr_strategy_prepare(struct hr_shared_state *shared)
{
    hr_strategy_forget(shared);
    return shared->strategy->prepare ? shared->strategy->prepare(shared) : HR_OK;
}

void hr_strategy_describe(const struct hr_shared_state *shared, char *text, size_t size)
{
    text[0] = '\0';
    if (shared->strategy->describe)
        shared->strategy->describe(shared, text, size);
}

void hr_strategy_forget(struct hr_shared_state *shared)
{
    free(shared->setup);
    shared->setup = NULL;
}
