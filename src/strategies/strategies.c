

#include <stdio.h>
#include <string.h>

#include "strategies/strategies.h"

#define ADDRESS(name) &hr_strategy_##name,
static const struct hr_strategy *const strategies[] = {HR_STRATEGIES(ADDRESS)};

enum { NSTRATEGIES = sizeof strategies / sizeof *strategies };

const struct hr_strategy *hr_strategy_at(size_t i)
{
    return i < NSTRATEGIES ? strategies[i] : NULL;
}

enum hr_status hr_strategy_find(const char *name, uint64_t staleness,
                                const struct hr_strategy **out)
{
    char known[256] = "";
    for (size_t i = 0; i < NSTRATEGIES; i++) {
        if (!strcmp(name, strategies[i]->name)) {
            *out =
                staleness == 0 && strategies[i]->in_step ? strategies[i]->in_step : strategies[i];
            return HR_OK;
        }
        const size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", strategies[i]->name);
    }
    return hr_fail(HR_E_USAGE, "--strategy %s: there is no such strategy (there are: %s)", name,
                   known);
}
