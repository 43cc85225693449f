#include "forecast/anchors.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hogring/sparse.h"
#include "base/clock.h"
#include "base/cpus.h"
#include "base/median.h"
#include "base/size.h"
#include "netsim/topology.h"
#include "strategies/strategies.h"

/* Workers: one, or so many times the processors. */
struct plan {
    const char *strategy;
    size_t times, servers; /* times 0: one worker */
    size_t part;           /* of struct hr_pace_parts */
    bool step;             /* the part is a step, of all workers; else of one gradient */
    bool heavy;            /* also where gradients are so long that overheads are nothing */
    unsigned kinds;
};

#define BIT(kind) (1u << HR_PACE_##kind)
#define SERVED (BIT(SERVED) | BIT(SERVED_IN_STEP))
#define ALL (~0u)
#define PART(name) offsetof(struct hr_pace_parts, name)

static const struct plan dense[] = {
    {"allreduce", 0, 0, PART(alone), true, true, ALL},
    {"allreduce", 1, 0, PART(together), true, true, ALL},
    {"allreduce", 2, 0, PART(round), true, false, ALL},
    {"hogwild", 1, 0, PART(free), true, true, BIT(FREE)},
    {"ps-async", 0, 1, PART(served_alone), false, true, SERVED},
    {"ps-async", 1, 1, PART(served[0]), false, true, SERVED},
    {"ps-async", 3, 1, PART(served[1]), false, false, SERVED},
    {"ps-async", 1, 2, PART(served_by_two[0]), false, false, SERVED},
    {"ps-async", 3, 2, PART(served_by_two[1]), false, false, SERVED},
    {"ps-sync", 1, 1, PART(in_step[0]), false, true, BIT(SERVED_IN_STEP)},
    {"ps-sync", 3, 1, PART(in_step[1]), false, false, BIT(SERVED_IN_STEP)},
    {"elastic-averaging", 2, 1, PART(elastic), false, true, BIT(ELASTIC)},
};

static const struct plan sparse[] = {
    {"hogwild", 0, 0, PART(alone), true, true, ALL},
    {"hogwild", 1, 0, PART(free), true, true, ALL},
    {"hogwild", 2, 0, PART(round), true, true, ALL},
    {"locked", 1, 0, PART(locked), false, true, BIT(LOCKED)},
};

/* One timing under way. */
struct timing {
    const struct hr_train_options *options;
    struct hr_dataset few;    /* the data set, with few test samples; its memory is borrowed */
    const struct plan *plans; /* (nplans) all there are; */
    size_t nplans;
    const struct plan *plan[HR_ANCHORS]; /* (out->n) of the anchors */
    bool is_sparse;
    double alone; /* s of a gradient, roughly */
    double slot;  /* s of a run */
    int (*stop)(void *arg);
    struct hr_anchors *out;
};

enum { TEST_SAMPLES = 64, LEAST_STEPS = 3, TURNS = 2 };

static double *part_at(struct hr_pace_parts *parts, const struct plan *plan)
{
    return (double *)(void *)((char *)parts + plan->part);
}

/* --- one run --- */

static bool is_in_step(const char *strategy)
{
    const struct hr_strategy *found;
    return hr_strategy_find(strategy, 1, &found) == HR_OK && found->shares_batch;
}

/* What a run does beside training: it is timed for that alone. */
static void leave_out(struct hr_train_options *o)
{
    char *const names[] = {o->checkpoint_dir, o->resume,    o->record, o->calibrate,
                           o->early_stop,     o->keep_best, o->budget};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        *names[i] = '\0';
    o->checkpoint_every = (struct hr_every){0};
    o->target_accuracy = o->target_rmse = o->target_loss = 0;
    o->epochs = 1 << 20;
    o->lr = 1e-4;
}

/* So long that each worker makes a few steps. */
static void limit(const struct timing *timing, const struct hr_anchor *anchor,
                  struct hr_train_options *o)
{
    const double W = (double)anchor->workers, P = (double)timing->out->parts.processors;
    const double step = timing->alone * fmax(1, W / P);
    leave_out(o);
    o->max_steps = 0;
    o->max_seconds = timing->slot;
    if (timing->is_sparse || timing->slot >= LEAST_STEPS * step)
        return;
    o->max_seconds = 0;
    o->max_steps = LEAST_STEPS * (is_in_step(anchor->strategy) ? 1 : anchor->workers);
}

static enum hr_status run(const struct timing *timing, const struct hr_anchor *anchor,
                          const struct hr_dataset *dataset, struct hr_run_result *result)
{
    struct hr_train_options o = *timing->options;
    if (timing->stop && timing->stop(NULL))
        return hr_fail(HR_E_INTERRUPTED, "interrupted: nothing is forecast");
    snprintf(o.strategy, sizeof o.strategy, "%s", anchor->strategy);
    o.workers = anchor->workers;
    o.servers = anchor->servers ? anchor->servers : 1;
    limit(timing, anchor, &o);
    return hr_train(&o, dataset, NULL, result);
}

static double gradient_of(const struct hr_run_result *result)
{
    return result->seconds * (double)result->batch_size / fmax(1, (double)result->samples);
}

/* What computing costs apart from the update, where all processors are busy; and the update. */
static void note_parts(struct timing *timing, const struct plan *plan,
                       const struct hr_run_result *result)
{
    struct hr_pace_parts *parts = &timing->out->parts;
    const double gradients =
        fmax(1, (double)result->samples / (double)hr_max_size(1, result->batch_size));
    if (plan->part == PART(together))
        parts->compute = (result->load_s + result->forward_s + result->backward_s) / gradients;
    if (plan->part == PART(alone))
        parts->update =
            fmax(0, gradient_of(result) -
                        (result->load_s + result->forward_s + result->backward_s) / gradients);
}

static enum hr_status time_one(struct timing *timing, size_t i, size_t turn)
{
    struct hr_run_result result;
    struct hr_anchor *anchor = &timing->out->anchor[i];
    HR_TRY(run(timing, anchor, &timing->few, &result));
    const double gradient = gradient_of(&result);
    if (turn == 0 || gradient < anchor->gradient)
        note_parts(timing, timing->plan[i], &result);
    hr_run_result_free(&result);
    if (turn == 0) {
        anchor->gradient = gradient;
        anchor->spread = (double)NAN;
        return HR_OK;
    }
    anchor->spread = fabs(anchor->gradient - gradient) / (anchor->gradient + gradient);
    anchor->gradient = fmin(anchor->gradient, gradient); /* disturbances only take time */
    return HR_OK;
}

/* --- which, and for how long --- */

/* One worker, once: how long a gradient takes, and an evaluation of all test samples. */
static enum hr_status warm_up(struct timing *timing, const struct hr_dataset *dataset)
{
    struct hr_run_result result;
    const struct hr_anchor one = {timing->is_sparse ? "hogwild" : "allreduce", 1, 0, 0, 0};
    timing->slot = 0.02;
    HR_TRY(run(timing, &one, dataset, &result));
    timing->alone = gradient_of(&result);
    timing->out->evaluation_s =
        timing->is_sparse || !result.ncurve
            ? (double)NAN
            : fmax(0, result.wall_s - result.seconds) / (double)result.ncurve;
    hr_run_result_free(&result);
    return HR_OK;
}

static size_t workers_of(const struct timing *timing, const struct plan *plan)
{
    return hr_max_size(1, plan->times * timing->out->parts.processors);
}

static void choose(struct timing *timing, unsigned wanted, bool heavy)
{
    struct hr_anchors *out = timing->out;
    out->n = 0;
    for (size_t i = 0; i < timing->nplans; i++) {
        const struct plan *plan = &timing->plans[i];
        const size_t workers = workers_of(timing, plan);
        if (!(plan->kinds & wanted) || (heavy && !plan->heavy) ||
            hr_anchors_find(out, plan->strategy, workers, plan->servers))
            continue;
        timing->plan[out->n] = plan;
        out->anchor[out->n++] =
            (struct hr_anchor){plan->strategy, workers, plan->servers, (double)NAN, (double)NAN};
    }
}

/* Seconds of one turn, if every worker makes the fewest steps. */
static double least_turn(const struct timing *timing)
{
    const double P = (double)timing->out->parts.processors;
    double sum = 0;
    for (size_t i = 0; i < timing->out->n; i++)
        sum += LEAST_STEPS * timing->alone * fmax(1, (double)timing->out->anchor[i].workers / P);
    return sum;
}

/* Where gradients are long, what surrounds them is short beside them. */
static void assume(struct hr_pace_parts *parts)
{
    const double P = (double)parts->processors;
    if (isnan(parts->round))
        parts->round = parts->together;
    if (isnan(parts->served[1]))
        parts->served[1] = fmin(parts->served[0], parts->together / P);
    for (size_t i = 0; i < 2; i++)
        if (isnan(parts->served_by_two[i]))
            parts->served_by_two[i] = parts->served[i];
    if (isnan(parts->in_step[1]))
        parts->in_step[1] = fmin(parts->in_step[0], parts->together / P);
}

/* On one processor two plans may be the same run. */
static void fill_parts(struct timing *timing)
{
    struct hr_anchors *out = timing->out;
    for (size_t i = 0; i < timing->nplans; i++) {
        const struct plan *plan = &timing->plans[i];
        const struct hr_anchor *anchor =
            hr_anchors_find(out, plan->strategy, workers_of(timing, plan), plan->servers);
        if (anchor)
            *part_at(&out->parts, plan) =
                anchor->gradient * (plan->step ? (double)anchor->workers : 1);
    }
    out->parts.round /= 2; /* of 2 P workers */
}

static void conclude(struct timing *timing)
{
    struct hr_anchors *out = timing->out;
    double spreads[HR_ANCHORS];
    size_t n = 0;
    for (size_t i = 0; i < out->n; i++)
        if (!isnan(out->anchor[i].spread))
            spreads[n++] = out->anchor[i].spread;
    fill_parts(timing);
    out->parts.elastic_period = timing->options->sync_every;
    if (timing->is_sparse)
        out->parts.together = out->parts.free;
    else
        assume(&out->parts);
    out->spread = hr_median(spreads, n);
}

/* What is left of the time is shared out among the runs that are left. */
static enum hr_status time_all(struct timing *timing, int64_t began_ns, double seconds)
{
    const struct hr_anchors *out = timing->out;
    for (size_t turn = 0; turn < TURNS; turn++)
        for (size_t i = 0; i < out->n; i++) {
            const double rest = seconds - hr_seconds(hr_clock_ns() - began_ns);
            const double runs = (double)((TURNS - turn) * out->n - i);
            if (turn && out->coarse && rest < runs * least_turn(timing) / (double)out->n)
                return HR_OK; /* once has to do */
            timing->slot = fmax(0.01, rest / runs - 0.01);
            HR_TRY(time_one(timing, i, turn));
        }
    return HR_OK;
}

enum hr_status hr_anchors_time(const struct hr_train_options *options,
                               const struct hr_dataset *dataset, unsigned wanted, double seconds,
                               int (*stop)(void *arg), struct hr_anchors *out)
{
    struct timing timing = {.options = options,
                            .few = *dataset,
                            .is_sparse = hr_sparse_is_model(options->model),
                            .stop = stop,
                            .out = out};
    const int64_t began = hr_clock_ns();
    *out = (struct hr_anchors){.parts = hr_pace_nothing(hr_cpus_cores())};
    timing.plans = timing.is_sparse ? sparse : dense;
    timing.nplans =
        timing.is_sparse ? sizeof sparse / sizeof *sparse : sizeof dense / sizeof *dense;
    timing.few.test.count = hr_min_size(TEST_SAMPLES, dataset->test.count);
    HR_TRY(warm_up(&timing, dataset));
    choose(&timing, wanted, false);
    const double left = seconds - hr_seconds(hr_clock_ns() - began);
    out->coarse = !timing.is_sparse && TURNS * least_turn(&timing) > left;
    if (out->coarse)
        choose(&timing, wanted, true);
    HR_TRY(time_all(&timing, began, seconds));
    conclude(&timing);
    out->seconds = hr_seconds(hr_clock_ns() - began);
    return HR_OK;
}

const struct hr_anchor *hr_anchors_find(const struct hr_anchors *anchors, const char *strategy,
                                        size_t workers, size_t servers)
{
    for (size_t i = 0; i < anchors->n; i++) {
        const struct hr_anchor *anchor = &anchors->anchor[i];
        if (!strcmp(anchor->strategy, strategy) && anchor->workers == workers &&
            (!anchor->servers || anchor->servers == servers))
            return anchor;
    }
    return NULL;
}

/* --- a stand-in ---
 * The stand-in is "flatten, dense N, dense 2": of one feature, with 4 N + 2 parameters. A batch is
 * one sample, and so many samples there are as there were batches. */

enum {
    MOST_PARAMS = 1 << 12,
    LEAST_A_RANK = 256,
    STAND_IN_STEPS = 12,
    MOST_STEPS = 64,
    ALL_STEPS = 2048
};

/* Of as many samples, all alike. numbers: the caller's, labels and the pixels behind them. */
static enum hr_status make_data(size_t samples, struct hr_dataset *out, void **numbers)
{
    uint32_t *labels = *numbers = calloc(samples + 1, sizeof *labels + 1);
    *out = (struct hr_dataset){.name = "stand-in",
                               .shape = {1, 1, 1},
                               .features = HR_FEATURES_BYTES,
                               .classes = 2,
                               .scale = 1};
    if (!labels)
        return hr_fail(HR_E_NOMEM, "no memory for %zu samples", samples);
    const uint8_t *pixels = (const uint8_t *)(labels + samples + 1);
    out->train = (struct hr_split){.count = samples, .pixels = pixels, .labels = labels};
    out->test = (struct hr_split){.count = 1, .pixels = pixels, .labels = labels};
    return HR_OK;
}

/* As slow, for fewer bytes. */
static enum hr_status slow_down(struct hr_train_options *o, double share)
{
    struct hr_link link;
    if (o->topology[0] && !o->link[0])
        return hr_fail(HR_E_USAGE, "--topology: its links cannot be scaled; a forecast in virtual "
                                   "time expects --link, and star:N or ring:N");
    if (!o->link[0])
        return HR_OK;
    HR_TRY(hr_link_parse("--link ", o->link, &link));
    snprintf(o->link, sizeof o->link, "%.6fB/s,%.3fns", link.bandwidth * share,
             (double)link.latency_ps / 1000);
    return HR_OK;
}

/* Some of every worker; of many, fewer each. */
static uint64_t steps_of(const struct hr_train_options *o, bool shares_batch)
{
    const uint64_t each =
        hr_min_size(MOST_STEPS, hr_max_size(STAND_IN_STEPS, ALL_STEPS / o->workers));
    return each * (shares_batch ? 1 : o->workers);
}

enum hr_status hr_stand_in_gradient(const struct hr_train_options *options, size_t params,
                                    size_t samples, double *out)
{
    struct hr_train_options o = *options;
    struct hr_dataset data;
    void *numbers;
    struct hr_run_result result;
    const struct hr_strategy *strategy;
    const size_t ranks = o.workers + o.servers;
    const size_t few = hr_min_size(params, hr_max_size(MOST_PARAMS, LEAST_A_RANK * ranks));
    const size_t units = hr_max_size(1, few / 4);
    HR_TRY(hr_strategy_find(o.strategy, o.staleness, &strategy));
    snprintf(o.model, sizeof o.model, "flatten, dense %zu, dense 2", units);
    o.batch_size = 1;
    snprintf(o.loss, sizeof o.loss, "auto");
    HR_TRY(slow_down(&o, (4 * (double)units + 2) / (double)params));
    o.max_steps = steps_of(&o, strategy->shares_batch);
    o.epochs = 1 << 20;
    o.budget[0] = '\0';
    o.lr = 1e-4;
    enum hr_status status =
        make_data((samples + options->batch_size - 1) / options->batch_size, &data, &numbers);
    if (status == HR_OK)
        status = hr_train(&o, &data, NULL, &result);
    free(numbers);
    HR_TRY(status);
    *out = result.seconds / fmax(1, (double)result.samples);
    hr_run_result_free(&result);
    return HR_OK;
}
