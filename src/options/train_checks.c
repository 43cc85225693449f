#include "options/train_checks.h"

#include <stdio.h>
#include <string.h>

#include "compress/compress.h"
#include "options/nearest.h"
#include "options/train_options.h"
#include "strategies/find.h"

enum hr_status hr_check_model(const struct hr_train_options *o)
{
    const char *why = hr_why_not_here(o->model);
    return why ? hr_fail(HR_E_USAGE, "--model %s: %s", o->model, why) : HR_OK;
}

enum hr_status hr_check_compress(const struct hr_train_options *o)
{
    struct hr_compress compress;
    return hr_compress_parse(o->compress, &compress);
}

enum hr_status hr_check_stall_warn(const struct hr_train_options *o)
{
    if (o->stall_warn <= 0 || o->timeout <= 0 || o->stall_warn < o->timeout)
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "--stall-warn %gs: expected less than --timeout, which ends a wait after %gs, "
                   "or 0",
                   o->stall_warn, o->timeout);
}

bool hr_train_repeats(const struct hr_train_options *o)
{
    const struct hr_strategy *strategy;
    if (!strcmp(o->clock, "virtual") || strcmp(o->schedule, "free") != 0 || o->workers == 1)
        return true;
    return hr_strategy_find(o->strategy, o->staleness, &strategy) == HR_OK && strategy->synchronous;
}

bool hr_train_has_orders(const struct hr_train_options *o)
{
    struct hr_train_options real = *o;
    snprintf(real.clock, sizeof real.clock, "real");
    return !hr_train_repeats(&real);
}
