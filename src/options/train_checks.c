#include "options/train_checks.h"

#include <stdio.h>
#include <string.h>

#include "compress/compress.h"
#include "netsim/inject.h"
#include "options/train_options.h"
#include "strategies/find.h"
#include "strategy/overlap.h"

enum hr_status hr_check_period(const struct hr_train_options *o)
{
    if (!o->adaptive_sync || o->sync_every != 1)
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "--adaptive-sync: is not supported with --sync-every 1 (it belongs to "
                   "longer periods: it shortens them, and none is shorter than 1)");
}

enum hr_status hr_check_batch(const struct hr_train_options *o)
{
    if (!o->global_batch_size)
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "--batch-size: is not supported with --global-batch-size %zu, "
                   "which says the same of all workers",
                   o->global_batch_size);
}

enum hr_status hr_check_compress(const struct hr_train_options *o)
{
    struct hr_compress compress;
    return hr_compress_parse(o->compress, &compress);
}

enum hr_status hr_check_consensus_step(const struct hr_train_options *o)
{
    if (o->compress[0])
        return HR_OK;
    return hr_fail(HR_E_USAGE, "--consensus-step: needs --compress (it belongs to "
                               "public copies of weights, which lag behind them there)");
}

/* In real time a link is one of the rings that gradients travel in, which allreduce alone has. */
enum hr_status hr_check_link(const struct hr_train_options *o)
{
    const struct hr_strategy *strategy;
    HR_TRY(hr_strategy_find(o->strategy, o->staleness, &strategy));
    if (!strcmp(o->clock, "virtual") || hr_strategy_obeys(strategy, "algorithm"))
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "--link: is not supported with --strategy %s (it belongs to allreduce with "
                   "--transport copy, and to --clock virtual but for hogwild)",
                   o->strategy);
}

/* An all-reduce takes, in virtual time, what its plan takes over idle links. */
enum hr_status hr_check_overlap(const struct hr_train_options *o)
{
    const struct hr_strategy *strategy;
    HR_TRY(hr_strategy_find(o->strategy, o->staleness, &strategy));
    if (!hr_overlaps(o) || strcmp(o->clock, "virtual") || !hr_strategy_adds(strategy) ||
        hr_strategy_is_served(strategy))
        return HR_OK;
    return hr_fail(
        HR_E_USAGE,
        "--overlap on: is not supported with --clock virtual and --strategy %s, whose sums "
        "begin there when all gradients are whole (it belongs to --clock real, and to "
        "servers)",
        o->strategy);
}

bool hr_train_outlives(const struct hr_train_options *options)
{
    return strcmp(options->on_loss, "stop") != 0;
}

/* What cannot be put in order again when a rank is lost, yet. */
enum hr_status hr_check_on_loss(const struct hr_train_options *o)
{
    const char *with = o->prefetch                          ? "--prefetch"
                       : !strcmp(o->placement, "colocated") ? "--placement colocated"
                       : o->calibrate[0]                    ? "--calibrate"
                                                            : NULL;
    if (!hr_train_outlives(o) || !with)
        return HR_OK;
    return hr_fail(HR_E_USAGE, "--on-loss %s: not with %s; expected one of them alone", o->on_loss,
                   with);
}

enum hr_status hr_check_pipelined(const struct hr_train_options *o)
{
    if (o->pipeline)
        return HR_OK;
    return hr_fail(HR_E_USAGE, "--micro-batches, --pipeline-schedule, --stages, --chunks and "
                               "--recompute mean nothing without --pipeline K");
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

enum hr_status hr_check_hot_copies(const struct hr_train_options *o)
{
    const struct hr_strategy *strategy;
    const bool found = hr_strategy_find(o->strategy, o->staleness, &strategy) == HR_OK;
    if (strcmp(o->model, "mf") != 0 && !strcmp(o->solver, "sgd") && o->workers > 1 && found &&
        hr_strategy_shares_weights(strategy))
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "--hot-copies: is not supported here (it belongs to --model logistic, "
                   "svm or linear, --solver sgd, --strategy hogwild, several workers)");
}

/* Explored schedules have no time; numbers can go wrong in them, and ranks die. */
enum hr_status hr_check_inject(const struct hr_train_options *o)
{
    const bool free = !strcmp(o->schedule, "free");
    const char *timed = free ? NULL : hr_inject_timed(o->inject);
    const char *explored = free ? hr_inject_explored(o->inject) : NULL;
    if (timed)
        return hr_fail(HR_E_USAGE,
                       "--inject: %s is not supported with --schedule %s, where nothing takes time "
                       "(it belongs to free)",
                       timed, o->schedule);
    if (explored)
        return hr_fail(HR_E_USAGE,
                       "--inject: %s is not supported with --schedule free, which draws no events "
                       "(it belongs to explore:SEED)",
                       explored);
    return HR_OK;
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

enum hr_status hr_check_digest_every(const struct hr_train_options *o)
{
    const bool drains =
        strcmp(o->pipeline_schedule, "pipedream") && strcmp(o->pipeline_schedule, "unstashed");
    if (o->checkpoint_dir[0])
        return hr_fail(HR_E_USAGE, "--digest-every: not with --checkpoint-dir, which says itself "
                                   "where all rest to be saved; expected one of them");
    if (o->record[0])
        return hr_fail(HR_E_USAGE, "--digest-every: not with --record; expected one of them");
    if (!hr_train_repeats(o))
        return hr_fail(
            HR_E_USAGE,
            "--digest-every: is not supported with --strategy %s in real time, whose bits "
            "are not reproducible (in virtual time, and under --schedule explore:SEED, "
            "they repeat)",
            o->strategy);
    return o->pipeline && !drains
               ? hr_fail(HR_E_USAGE,
                         "--digest-every: a pipeline of %s is empty only at the ends of epochs; "
                         "expected a schedule that drains, as 1f1b",
                         o->pipeline_schedule)
               : HR_OK;
}

uint64_t hr_digest_every(const struct hr_train_options *o)
{
    return o->digest_every && hr_check_digest_every(o) == HR_OK ? o->digest_every : 0;
}
