#include "session/result.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum hr_status fill_times(const struct hr_accounts *accounts, struct hr_run_result *result)
{
    result->nworker_times = accounts->n;
    result->worker_time = calloc(accounts->n, sizeof *result->worker_time);
    if (!result->worker_time)
        return hr_fail(HR_E_NOMEM, "no memory for the times of %zu workers", accounts->n);
    for (size_t w = 0; w < accounts->n; w++) {
        const unsigned char *at = (const unsigned char *)accounts->first + w * accounts->stride;
        const int64_t *spent_ns = ((const struct hr_account *)(const void *)at)->spent_ns;
        struct hr_worker_time *time = &result->worker_time[w];
        result->load_s += time->load_s = hr_seconds(spent_ns[HR_LOAD]);
        result->compute_s += time->compute_s = hr_seconds(spent_ns[HR_COMPUTE]);
        result->communicate_s += time->communicate_s = hr_seconds(spent_ns[HR_COMMUNICATE]);
        result->wait_s += time->wait_s = hr_seconds(spent_ns[HR_WAIT]);
    }
    return HR_OK;
}

/* The evaluation whose weights the run ends with. */
static const struct hr_curve_point *point_of_weights(const struct hr_cuts *cuts,
                                                     const struct hr_run_result *result)
{
    const struct hr_best best = hr_cut_best(cuts, &cuts->early_stop);
    const bool restored = best.any && !cuts->cut->interrupted;
    return &result->curve[restored ? best.point : result->ncurve - 1];
}

static void fill_best(const struct hr_cuts *cuts, const struct hr_train_options *options,
                      struct hr_run_result *result)
{
    const bool stops = cuts->early_stop.asked;
    const struct hr_early_stop *rule = stops ? &cuts->early_stop : &cuts->keep_best;
    const struct hr_best found = hr_cut_best(cuts, rule);
    struct hr_best_evaluation *best = &result->best;
    if (!rule->asked || result->ncurve == 0)
        return;
    snprintf(best->metric, sizeof best->metric, "%s", hr_metric_kind(rule->metric)->name);
    best->value = found.any ? found.value : (double)NAN;
    best->epoch = found.any ? result->curve[found.point].epoch : (double)NAN;
    best->restored = stops && found.any && !cuts->cut->interrupted;
    best->stopped = hr_best_is_over(&cuts->early_stop, &found);
    best->ended = result->curve[result->ncurve - 1].epoch;
    if (cuts->saves && hr_cut_best(cuts, &cuts->keep_best).any)
        snprintf(best->checkpoint, sizeof best->checkpoint, "%.1023s/best",
                 options->checkpoint_dir);
}

/* When --time-to was first reached. */
static double seconds_to_target(const struct hr_train_options *options,
                                const struct hr_run_result *result)
{
    const struct hr_target asked = hr_target_asked(options);
    const enum hr_metric metric = asked.metric;
    const double target = asked.value;
    double seconds = -1;
    for (size_t i = result->ncurve; target > 0 && i-- > 0;) {
        const double value = hr_metric_at(metric, &result->curve[i]);
        if (!isnan(value) && !hr_metric_better(metric, target, value, 0))
            seconds = result->curve[i].seconds;
    }
    return seconds;
}

static const struct hr_fit no_fit = {.rmse = (double)NAN, .mae = (double)NAN, .r2 = (double)NAN};

static void take_point(const struct hr_curve_point *last, struct hr_run_result *result)
{
    result->train_loss = last->train_loss;
    result->test_loss = last->test_loss;
    result->test_accuracy = last->test_accuracy;
    result->test_fit = last->validated ? no_fit : last->fit;
    result->validation_loss = last->validation_loss;
    result->validation_accuracy = last->validation_accuracy;
    result->validation_fit = last->fit;
}

static enum hr_status copy_curve(const struct hr_cuts *cuts, const struct hr_train_options *options,
                                 struct hr_run_result *result)
{
    result->ncurve = hr_atom64_load_acquire(&cuts->cut->ncurve); /* partner: hr_cut_add_point */
    result->curve = calloc(result->ncurve + 1, sizeof *result->curve);
    if (!result->curve)
        return hr_fail(HR_E_NOMEM, "no memory for a curve of %zu points", result->ncurve);
    memcpy(result->curve, cuts->curve, result->ncurve * sizeof *result->curve);
    result->target_seconds = seconds_to_target(options, result);
    const struct hr_curve_point none = {.train_loss = (double)NAN,
                                        .test_loss = (double)NAN,
                                        .test_accuracy = (double)NAN,
                                        .validation_loss = (double)NAN,
                                        .validation_accuracy = (double)NAN,
                                        .fit = no_fit};
    take_point(result->ncurve ? point_of_weights(cuts, result) : &none, result);
    result->test_evaluations = cuts->validates ? 0 : result->ncurve;
    return HR_OK;
}

static void fill_past(const struct hr_cuts *cuts, const struct hr_train_options *options,
                      struct hr_run_result *result)
{
    const struct hr_history *history = &cuts->history;
    result->resumed = options->resume[0];
    result->resumed_step = result->resumed ? cuts->schedule->first + history->steps : 0;
    result->past_samples = history->samples;
    result->past_updates = history->updates;
    result->past_seconds = history->seconds;
}

enum hr_status hr_result_finish(const struct hr_cuts *cuts, const struct hr_train_options *options,
                                const struct hr_accounts *accounts, struct hr_run_result *result)
{
    HR_TRY(fill_times(accounts, result));
    HR_TRY(copy_curve(cuts, options, result));
    fill_best(cuts, options, result);
    fill_past(cuts, options, result);
    result->steps = hr_cut_step(cuts);
    result->interrupted = cuts->cut->interrupted;
    snprintf(result->clock, sizeof result->clock, "%s", options->clock);
    result->seconds = hr_seconds(cuts->cut->train_ns);
    result->saves.rest_s = hr_seconds(cuts->cut->rest_ns);
    result->bytes_per_update = (double)result->bytes_sent / (double)result->updates;
    result->samples_per_s = result->seconds > 0 ? (double)result->samples / result->seconds : 0;
    return HR_OK;
}

void hr_result_lists(struct hr_run_result *r, struct hr_result_list out[HR_RESULT_LISTS])
{
#define LIST(of, n)                                                                                \
    {                                                                                              \
        &(of), (n) * sizeof *(of)                                                                  \
    }
    const struct hr_result_list lists[HR_RESULT_LISTS] = {
        LIST(r->curve, r->ncurve),
        LIST(r->stale_parts, r->nstale_workers + r->nstale_keys),
        LIST(r->stale_counts, r->nstale_counts),
        LIST(r->dropped_by, r->ndropped_by),
        LIST(r->worker_time, r->nworker_times),
        LIST(r->waited_for, r->nwaited),
        LIST(r->waited_s, r->waited_s ? r->nwaited * r->nwaited : 0),
        LIST(r->losses, r->nlosses),
        LIST(r->answers, r->nanswers),
        LIST(r->digests, r->ndigests),
        LIST(r->machines, r->nmachines),
        LIST(r->pipeline.stage, r->pipeline.stages),
        LIST(r->pipeline.span, r->pipeline.nspans),
        LIST(r->tensor.layer, r->tensor.nlayers),
    };
#undef LIST
    memcpy(out, lists, sizeof lists);
}

void hr_run_result_free(struct hr_run_result *result)
{
    struct hr_result_list list[HR_RESULT_LISTS];
    hr_result_lists(result, list);
    for (size_t i = 0; i < HR_RESULT_LISTS; i++) {
        void *data;
        memcpy(&data, list[i].field, sizeof data);
        free(data);
        memset(list[i].field, 0, sizeof data);
    }
    result->pipeline = (struct hr_pipeline_report){0};
    result->tensor = (struct hr_tensor_report){0};
    result->ncurve = result->nstale_workers = result->nstale_keys = result->nstale_counts = 0;
    result->ndropped_by = result->nworker_times = result->nwaited = result->nlosses = 0;
    result->nanswers = result->ndigests = result->nmachines = 0;
}
