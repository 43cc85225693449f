#include "compare/trials.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/signals.h"
#include "hogring/sparse.h"
#include "options/sweep.h"
#include "options/tune.h"
#include "strategies/find.h"
#include "terminal/output.h"

/* --- candidates --- */

static double value_of(const struct hr_option *row, const struct hr_train_options *options)
{
    const void *field = (const char *)options + row->offset;
    switch (row->kind) {
    case HR_OPTION_COUNT:
        return (double)*(const size_t *)field;
    case HR_OPTION_COUNT64:
        return (double)*(const uint64_t *)field;
    default:
        return *(const double *)field;
    }
}

/* What a trial does not do, or is not asked. */
static void leave_out(struct hr_train_options *o)
{
    o->checkpoint_dir[0] = o->record[0] = o->calibrate[0] = o->keep_best[0] = o->resume[0] = '\0';
    o->checkpoint_every = (struct hr_every){0};
    o->validation_fraction = 0; /* it is held out */
    o->wants_answers = false;
    o->digest_every = 0;
    o->target_accuracy = o->target_rmse = 0;
}

static enum hr_status add_candidate(struct hr_trials *trials, const struct hr_cli *tuned,
                                    const struct hr_cli *own, const bool *given)
{
    struct hr_tuned_entry *entry = trials->entry;
    struct hr_tuned_candidate *candidate = &entry->candidate[entry->ncandidates];
    *candidate = (struct hr_tuned_candidate){.score = (double)NAN};
    for (size_t a = 0; a < HR_TUNED_OPTIONS; a++)
        candidate->value[a] = (double)NAN;
    for (size_t a = 0; a < tuned->naxes; a++) {
        const size_t option = tuned->axes[a].option;
        if (own->given[option] && !given[option])
            candidate->value[a] = value_of(hr_cli_option_at(option).row, &own->train);
    }
    trials->candidate[entry->ncandidates] = own->train;
    leave_out(&trials->candidate[entry->ncandidates++]);
    return HR_OK;
}

static enum hr_status add_candidates(struct hr_trials *trials, const struct hr_cli *tuned,
                                     const struct hr_compare_runs *runs, size_t i)
{
    static struct hr_cli own;
    const size_t points = hr_sweep_points(tuned);
    for (size_t k = 0; k < points; k++) {
        char text[256];
        bool wanted;
        own = *tuned;
        own.train = runs->options[i];
        memcpy(own.given, runs->given[i], sizeof own.given);
        HR_TRY(hr_sweep_point(tuned, HR_COMPARE, k, &own, &wanted, text, sizeof text));
        if (wanted)
            HR_TRY(add_candidate(trials, tuned, &own, runs->given[i]));
    }
    return HR_OK;
}

bool hr_trials_in_step(const struct hr_trials *trials)
{
    const struct hr_train_options *o = &trials->candidate[0];
    const struct hr_strategy *strategy;
    return !hr_sparse_is_model(o->model) &&
           hr_strategy_find(o->strategy, o->staleness, &strategy) == HR_OK &&
           (hr_strategy_never_stale(strategy) || o->workers == 1);
}

/* As long as the run that is judged: where nothing else is said, epochs in samples. */
static struct hr_budget length_of(const struct hr_train_options *options, size_t pass)
{
    struct hr_budget budget;
    if (hr_budget_parse(options->budget, &budget) && budget.unit != HR_BUDGET_NONE)
        return budget;
    const size_t samples = options->epoch_size ? options->epoch_size : pass;
    return (struct hr_budget){HR_BUDGET_SAMPLES, (double)options->epochs * (double)samples};
}

enum hr_status hr_trials_open(struct hr_trials *trials, const struct hr_cli *tuned,
                              const struct hr_compare_runs *runs, size_t i)
{
    const size_t points = hr_sweep_points(tuned);
    struct hr_tuned_entry *entry = trials->entry;
    *entry =
        (struct hr_tuned_entry){.label = runs->entry[i], .strategy = runs->options[i].strategy};
    trials->seed = runs->options[i].seed;
    trials->longest = length_of(&runs->options[i], trials->pass);
    trials->candidate = calloc(points + HR_TRIALS_WIDER, sizeof *trials->candidate);
    entry->candidate = calloc(points + HR_TRIALS_WIDER, sizeof *entry->candidate);
    if (!trials->candidate || !entry->candidate)
        return hr_fail(HR_E_NOMEM, "no memory for %zu candidates", points);
    return add_candidates(trials, tuned, runs, i);
}

/* Rates go by factors of two, as hr_tune_usual_axes has them. */
enum hr_status hr_trials_widen(struct hr_trials *trials, int edge)
{
    struct hr_tuned_entry *entry = trials->entry;
    trials->wider = entry->ncandidates;
    entry->widened = true;
    for (int k = 1; k <= HR_TRIALS_WIDER; k++) {
        const size_t c = entry->ncandidates++;
        entry->candidate[c] = entry->candidate[entry->chosen];
        entry->candidate[c].trials = entry->candidate[c].samples = 0;
        trials->candidate[c] = trials->candidate[entry->chosen];
        trials->candidate[c].lr = ldexp(trials->candidate[c].lr, edge * k);
        entry->candidate[c].value[0] = trials->candidate[c].lr;
    }
    return hr_trials_check(trials);
}

void hr_trials_close(struct hr_trials *trials)
{
    free(trials->candidate);
    trials->candidate = NULL;
}

/* --- a trial --- */

static struct hr_train_options options_of(const struct hr_trials *trials, size_t candidate,
                                          double budget, size_t seed)
{
    struct hr_train_options o = trials->candidate[candidate];
    const double part = budget / trials->longest.amount;
    const bool counted = trials->longest.unit != HR_BUDGET_SECONDS;
    const struct hr_budget own = {trials->longest.unit, counted ? fmax(1, round(budget)) : budget};
    o.seed = trials->seed + HR_TRIAL_SEEDS + seed;
    o.warmup_epochs *= part;
    o.lr_step_epochs *= part;
    if (hr_sparse_is_model(o.model) && o.warmup_epochs < 2)
        o.warmup_epochs = 0; /* it knows whole epochs alone */
    if (counted)
        snprintf(o.budget, sizeof o.budget, "%.0f%s", own.amount,
                 own.unit == HR_BUDGET_SAMPLES ? "samples" : "updates");
    else
        snprintf(o.budget, sizeof o.budget, "%.9fs", own.amount);
    return o;
}

enum hr_status hr_trials_check(const struct hr_trials *trials)
{
    for (size_t c = 0; c < trials->entry->ncandidates; c++) {
        const struct hr_train_options o = options_of(trials, c, trials->longest.amount, 0);
        const enum hr_status status = hr_train_check(&o, trials->dataset);
        char text[256];
        hr_tuning_values(trials->tuning, &trials->entry->candidate[c], ", ", text, sizeof text);
        if (status != HR_OK)
            return hr_fail(status, "--tune: %s with %s: %s", trials->entry->label, text,
                           hr_error_message());
    }
    return HR_OK;
}

/* What is seen of it: a line on a terminal, and how far it came. */
struct spectator {
    struct hr_progress_view view;
    struct hr_progress seen;
};

static void on_progress(void *arg, const struct hr_progress *progress)
{
    struct spectator *spectator = arg;
    spectator->seen = *progress;
    hr_progress_view_update(&spectator->view, progress);
}

static void on_start(void *arg, const struct hr_run_info *info)
{
    ((struct spectator *)arg)->view.subject.epochs = info->length;
}

/* What people look at, and the loss where that is equal. */
static void score(const struct hr_trials *trials, const struct hr_run_result *result,
                  struct hr_tuned_trial *trial)
{
    trial->samples = result->samples;
    trial->updates = result->updates;
    snprintf(trial->digest, sizeof trial->digest, "%s", result->weights_digest);
    trial->seconds = result->seconds;
    trial->score = hr_metric_of_test(trials->tuning->metric, result);
    trial->loss = result->test_loss;
    if (!isfinite(trial->score) || !isfinite(trial->loss))
        trial->score = trial->loss = (double)NAN;
}

static void note(const struct hr_trials *trials, const struct hr_tuned_trial *trial)
{
    struct hr_tuned_candidate *candidate = &trials->entry->candidate[trial->candidate];
    trials->entry->trial[trials->entry->ntrials++] = *trial;
    trials->entry->samples += trial->samples;
    candidate->samples += trial->samples;
    candidate->trials++;
}

enum hr_status hr_trials_train(void *arg, struct hr_search_trial *asked)
{
    const struct hr_trials *trials = arg;
    const size_t candidate = !trials->wider     ? asked->candidate
                             : asked->candidate ? trials->wider + asked->candidate - 1
                                                : trials->entry->chosen;
    const struct hr_train_options o =
        options_of(trials, candidate, asked->budget, trials->first_seed + asked->seed);
    struct hr_tuned_trial trial = {.candidate = candidate,
                                   .rung = trials->first_rung + asked->rung,
                                   .seed = o.seed,
                                   .budget = asked->budget,
                                   .seconds = (double)NAN,
                                   .score = (double)NAN,
                                   .loss = (double)NAN};
    char label[160];
    snprintf(label, sizeof label, "tuning %.60s: %zu of %zu trials", trials->entry->label,
             trials->entry->ntrials + 1, trials->trials);
    const struct hr_progress_subject subject = {.label = label, .strategy = o.strategy};
    struct spectator spectator = {.seen = {0}};
    struct hr_run_result result = {0};
    hr_progress_view_init(&spectator.view, hr_output_terminal(), &subject,
                          hr_watch_telling(trials->cli));
    const struct hr_observer observer = {.arg = &spectator,
                                         .started = on_start,
                                         .progress = on_progress,
                                         .should_stop = hr_signals_seen};
    const enum hr_status status = hr_train(&o, trials->dataset, &observer, &result);
    hr_progress_view_end(&spectator.view);
    trial.samples = spectator.seen.samples;
    if (status == HR_OK)
        score(trials, &result, &trial);
    const bool interrupted = result.interrupted;
    hr_run_result_free(&result);
    if (interrupted || hr_signals_seen(NULL))
        return hr_fail(HR_E_INTERRUPTED, "interrupted while tuning: nothing was compared");
    if (status != HR_OK && status != HR_E_DIVERGED)
        return hr_fail_within(status, "tuning %s: ", trials->entry->label);
    const bool higher = hr_metric_kind(trials->tuning->metric)->higher;
    asked->score = (struct hr_search_score){higher ? trial.score : -trial.score, -trial.loss};
    note(trials, &trial);
    return HR_OK;
}
