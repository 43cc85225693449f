/* Rows one by one, after what they share was timed. */
#include "forecast/forecast.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpus.h"
#include "base/size.h"
#include "forecast/anchors.h"
#include "hogring/sparse.h"
#include "nn/model.h"
#include "options/choices.h"
#include "options/pairs.h"
#include "strategies/strategies.h"
#include "train/shared_memory.h"

/* --- what a forecast stands for --- */

static bool is_virtual(const struct hr_train_options *o)
{
    return hr_choices_of(o).clock == HR_CLOCK_VIRTUAL;
}

static enum hr_status no_model_of(const char *name)
{
    const struct hr_strategy *strategy;
    char known[256] = "";
    for (size_t i = 0, used = 0; (strategy = hr_strategy_at(i)) && used < sizeof known; i++)
        if (hr_pace_kind_of(strategy->name) != HR_PACE_UNKNOWN)
            used += (size_t)snprintf(known + used, sizeof known - used, "%s, ", strategy->name);
    return hr_fail(HR_E_USAGE,
                   "%s: a forecast has no model of its time; expected %sor --clock virtual", name,
                   known);
}

static enum hr_status check_real(const struct hr_train_options *o)
{
    return hr_pace_kind_of(o->strategy) == HR_PACE_UNKNOWN ? no_model_of(o->strategy) : HR_OK;
}

enum hr_status hr_forecast_check(const struct hr_train_options *o)
{
    struct hr_pair_run run = hr_pair_run_of(o, NULL);
    run.forecast = true;
    HR_TRY(hr_pairs_check(&run));
    return is_virtual(o) ? HR_OK : check_real(o);
}

/* --- ranges --- */

/* What nine of ten forecasts were off by at most on a calm machine, rounded up to 0.05: those of
 * tests/forecast/, 110. Only 9 had no more ranks than processors; a kind that has fewer than two
 * such rows has the figure of its crowded ones, or an older one (allreduce, ps-sync). */
static const struct {
    enum hr_pace_kind kind;
    double uncrowded, crowded; /* relative; 0: not measured */
} errors[] = {
    {HR_PACE_SUMMED, 0.15, 0.5},         {HR_PACE_FREE, 0.15, 0.15},
    {HR_PACE_AVERAGED, 0.25, 0.4},       {HR_PACE_SERVED, 0.35, 0.35},
    {HR_PACE_SERVED_IN_STEP, 0.35, 0.3}, {HR_PACE_ELASTIC, 0.35, 0.35},
};

/* They were measured on two processors, with up to as many workers and servers. */
enum { MEASURED_PROCESSORS = 2, MEASURED_WORKERS = 12, MEASURED_SERVERS = 3 };
static const double unmeasured = 0.5;

static double error_of(enum hr_pace_kind kind, bool crowded)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].kind == kind)
            return crowded ? errors[i].crowded : errors[i].uncrowded;
    return 0;
}

/* Of what it is with its staleness: nobody runs ahead of 0. NULL: it is sparse. */
static const struct hr_strategy *table_of(const struct hr_train_options *o)
{
    const struct hr_strategy *strategy;
    const bool dense = !hr_sparse_is_model(o->model) &&
                       hr_strategy_find(o->strategy, o->staleness, &strategy) == HR_OK;
    return dense ? strategy : NULL;
}

static enum hr_pace_kind kind_of(const struct hr_train_options *o)
{
    const struct hr_strategy *strategy = table_of(o);
    return hr_pace_kind_of(strategy ? strategy->name : o->strategy);
}

/* Nobody has compared a strategy that does more at an exchange than others of its kind. */
static bool does_more(const struct hr_train_options *o)
{
    const struct hr_strategy *strategy = table_of(o);
    return strategy && strategy->rows.more;
}

static void set_range(const struct hr_forecast *forecast, struct hr_forecast_row *row)
{
    const struct hr_train_options *o = &row->options;
    const struct hr_anchors *anchors = &forecast->anchors;
    const bool crowded = o->workers + row->servers > forecast->processors;
    const double error = error_of(kind_of(o), crowded);
    const bool plain = hr_choices_of(o).launch == HR_LAUNCH_AS_THREADS &&
                       o->threads_per_worker == 1 && hr_choices_of(o).overlap == HR_OVERLAP_OFF &&
                       !o->prefetch && !anchors->coarse;
    row->validated = error > 0 && plain && !does_more(o) &&
                     forecast->processors == MEASURED_PROCESSORS &&
                     o->workers <= MEASURED_WORKERS && row->servers <= MEASURED_SERVERS &&
                     !hr_sparse_is_model(o->model);
    const double varied = isnan(anchors->spread) ? 0 : anchors->spread;
    const double wide = (row->timed ? 0.05 : row->validated ? error : unmeasured) + varied;
    row->low = row->samples_per_s / (1 + wide);
    row->high = row->samples_per_s * (1 + wide);
}

/* --- a row --- */

static bool is_served(const struct hr_train_options *o)
{
    const struct hr_strategy *strategy = table_of(o);
    return strategy && hr_strategy_is_served(strategy);
}

/* Workers whose batches make one update. */
static bool shares_batch(const struct hr_train_options *o)
{
    const struct hr_strategy *strategy = table_of(o);
    return strategy && strategy->shares_batch;
}

static size_t batch_of(const struct hr_train_options *o)
{
    return hr_sparse_is_model(o->model) ? 1 : o->batch_size;
}

static void pace(const struct hr_forecast *forecast, struct hr_forecast_row *row)
{
    const struct hr_train_options *o = &row->options;
    const struct hr_anchor *timed =
        hr_anchors_find(&forecast->anchors, o->strategy, o->workers, row->servers);
    const struct hr_pace_ask ask = {.kind = kind_of(o),
                                    .workers = o->workers,
                                    .servers = row->servers,
                                    .period = o->sync_every};
    const double gradient =
        timed ? timed->gradient : hr_pace_gradient(&forecast->anchors.parts, &ask);
    row->timed = timed;
    row->samples_per_s = (double)batch_of(o) / gradient;
    set_range(forecast, row);
}

static enum hr_status simulate(const struct hr_dataset *dataset, size_t params,
                               const struct hr_train_options *options, double *speed)
{
    double gradient;
    HR_TRY(hr_stand_in_gradient(options, params, dataset->train.count, &gradient));
    *speed = (double)options->batch_size / gradient;
    return HR_OK;
}

/* A stand-in's chunks are rounded to other numbers: some thousandths. */
static const double simulated_error = 0.01;

static enum hr_status fill_row(const struct hr_forecast_ask *ask, size_t params,
                               struct hr_forecast *forecast, struct hr_forecast_row *row)
{
    struct hr_needs needs = {0};
    row->servers = is_served(&row->options) ? hr_max_size(1, row->options.servers) : 0;
    HR_TRY(hr_train_needs(&row->options, ask->dataset, &needs));
    row->memory = needs.bytes;
    row->own_memory = needs.bytes - needs.taken;
    if (forecast->simulated) {
        HR_TRY(simulate(ask->dataset, params, &row->options, &row->samples_per_s));
        row->low = row->samples_per_s / (1 + simulated_error);
        row->high = row->samples_per_s * (1 + simulated_error);
        row->validated = true;
    } else {
        pace(forecast, row);
    }
    row->speedup = row->samples_per_s / forecast->alone;
    row->epoch_s = (double)ask->dataset->train.count / row->samples_per_s;
    row->global_batch =
        batch_of(&row->options) * (shares_batch(&row->options) ? row->options.workers : 1);
    return HR_OK;
}

/* --- samples --- */

static void set_costs(const struct hr_noise_report *noise, struct hr_forecast_row *row)
{
    const double from = (double)row->options.batch_size, to = (double)row->global_batch;
    row->cost_low = row->cost_high = (double)NAN;
    if (noise->missing || !noise->start.batches || !shares_batch(&row->options))
        return;
    row->cost_high = hr_noise_cost(noise->start.low, from, to);
    row->cost_low = hr_noise_cost(noise->start.high, from, to);
    if (!noise->steps)
        return;
    row->cost_high = fmax(row->cost_high, hr_noise_cost(noise->later.low, from, to));
    row->cost_low = fmin(row->cost_low, hr_noise_cost(noise->later.high, from, to));
}

double hr_forecast_bound(const struct hr_conflicts *c, double lag)
{
    return 1 + 6 * c->rho * lag + 6 * lag * lag * (double)c->omega * sqrt(c->delta);
}

/* --- all of it --- */

static unsigned kinds_of(const struct hr_forecast *forecast)
{
    unsigned kinds = 0;
    for (size_t i = 0; i < forecast->n; i++)
        kinds |= 1u << kind_of(&forecast->rows[i].options);
    return kinds;
}

static enum hr_status count_params(const struct hr_train_options *o,
                                   const struct hr_dataset *dataset, size_t *params)
{
    struct hr_model *model;
    HR_TRY(hr_model_of_data(o->model, dataset, &model));
    *params = hr_model_param_count(model);
    hr_model_destroy(model);
    return HR_OK;
}

/* What all rows are compared with, in virtual time. */
static enum hr_status simulate_alone(const struct hr_forecast_ask *ask, size_t params,
                                     struct hr_forecast *forecast)
{
    struct hr_train_options one = forecast->rows[0].options;
    snprintf(one.strategy, sizeof one.strategy, "allreduce");
    one.workers = 1;
    one.servers = 0;
    one.link[0] = one.topology[0] = one.server_time[0] = '\0';
    return simulate(ask->dataset, params, &one, &forecast->alone);
}

static enum hr_status begin(const struct hr_forecast_ask *ask, struct hr_forecast *forecast,
                            size_t *params)
{
    const struct hr_train_options *first = &forecast->rows[0].options;
    forecast->tokens = ask->dataset->tokens.context;
    if (forecast->simulated) {
        HR_TRY(count_params(first, ask->dataset, params));
        return simulate_alone(ask, *params, forecast);
    }
    HR_TRY(hr_anchors_time(first, ask->dataset, kinds_of(forecast), ask->seconds, ask->stop,
                           &forecast->anchors));
    forecast->alone = (double)batch_of(first) / forecast->anchors.parts.alone;
    return HR_OK;
}

enum hr_status hr_forecast_make(const struct hr_forecast_ask *ask, struct hr_forecast *forecast)
{
    const struct hr_train_options *first = &forecast->rows[0].options;
    const bool sparse = hr_sparse_is_model(first->model);
    size_t params = 0;
    forecast->simulated = is_virtual(first);
    forecast->processors = hr_cpus_allowed();
    if (getloadavg(&forecast->load, 1) != 1)
        forecast->load = (double)NAN;
    HR_TRY(begin(ask, forecast, &params));
    for (size_t i = 0; i < forecast->n; i++)
        HR_TRY(fill_row(ask, params, forecast, &forecast->rows[i]));
    if (ask->dataset->features == HR_FEATURES_SPARSE)
        HR_TRY(hr_sparse_conflicts(ask->dataset, &forecast->conflicts));
    forecast->noise.missing = sparse ? "sparse models take one row a step" : "not asked for";
    if (!sparse && ask->noise_seconds > 0) /* last: nothing is forked after BLAS was used here */
        HR_TRY(hr_noise_measure(first, ask->dataset, ask->noise_seconds, &forecast->noise));
    for (size_t i = 0; i < forecast->n; i++)
        set_costs(&forecast->noise, &forecast->rows[i]);
    return HR_OK;
}
