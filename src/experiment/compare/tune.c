/* Every entry is laid out as a search before the first trial, so that what cannot be is refused
 * before hours; the one that needs the most says what all may spend. Then entry by entry is
 * searched, and its choice goes into the options of its runs, of all seeds. */
#include "compare/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hogring/sparse.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/signals.h"
#include "base/text.h"
#include "compare/compare.h"
#include "data/held_out.h"
#include "options/budget.h"
#include "options/choices.h"
#include "options/sweep.h"
#include "report/human.h"
#include "search/halving.h"
#include "strategies/strategies.h"
#include "terminal/output.h"

/* --- one entry of a comparison as a search: its candidates, and a trial of one of them ---
 *
 * A trial is a run like those that are compared, but for its seed, its length and its data, whose
 * test split is the validation split; and it leaves nothing behind. What is counted in epochs of a
 * run's length, warm-up and steps of the rate, is shorter as the run is shorter. */

#define HR_TRIAL_SEEDS (UINT64_C(1) << 32) /* beyond those that are judged */

struct hr_trials {
    const struct hr_cli *cli;
    const struct hr_dataset *dataset;   /* train: what is left; test: what is held out */
    struct hr_train_options *candidate; /* (entry->ncandidates) owned */
    struct hr_budget longest;           /* the judged run's length */
    size_t pass;                        /* samples of a judged run's epoch */
    uint64_t seed;                      /* of the first judged run */
    size_t trials;                      /* that are planned */
    struct hr_search search;            /* of them */
    /* A second search: the chosen candidate, and those from `wider` on; 0: it is the first. */
    size_t wider, first_rung, first_seed;
    struct hr_tuning *tuning;
    struct hr_tuned_entry *entry;
};

/* Rates beyond the chosen one, which lies at that edge (1: the largest), as more candidates. */
enum { HR_TRIALS_WIDER = 3 };

/* --- candidates --- */

static double value_of(const struct hr_option *row, const struct hr_train_options *options)
{
    json_t *value = hr_option_json(row, options);
    const double number = json_number_value(value);
    json_decref(value);
    return number;
}

/* What a trial does not do, or is not asked. */
static void leave_out(struct hr_train_options *o)
{
    o->checkpoint_dir[0] = o->record[0] = o->calibrate[0] = o->keep_best[0] = o->resume[0] = '\0';
    o->checkpoint_every = (struct hr_every){0};
    o->validation_fraction = 0; /* it is held out */
    o->wants_answers = false;
    o->digest_every = 0;
    o->target_accuracy = o->target_rmse = o->target_loss = 0;
}

static void add_candidate(struct hr_trials *trials, const struct hr_cli *tuned,
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
            add_candidate(trials, tuned, &own, runs->given[i]);
    }
    return HR_OK;
}

/* Do its updates depend on no order of events, so that equal weights are no accident? */
static bool trials_in_step(const struct hr_trials *trials)
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

/* Candidates of an entry of runs: those of `tuned`, the command line whose axes are tuned. */
static enum hr_status trials_open(struct hr_trials *trials, const struct hr_cli *tuned,
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

static void trials_close(struct hr_trials *trials)
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

/* Would each candidate train? HR_E_USAGE, HR_E_NOMEM. */
static enum hr_status trials_check(const struct hr_trials *trials)
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

/* Rates go by factors of two, as hr_tune_usual_axes has them. */
static enum hr_status trials_widen(struct hr_trials *trials, int edge)
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
    return trials_check(trials);
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
    struct hr_progress_subject *subject = &((struct spectator *)arg)->view.subject;
    subject->epochs = info->length;
    subject->tokens = info->tokens;
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

/* For struct hr_search: train; arg: the trials. */
static enum hr_status trials_train(void *arg, struct hr_search_trial *asked)
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
                          hr_watch_verbosity(trials->cli));
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

static const double usual_fraction = 0.2;
enum { SEEDS = 64 }; /* of the last round, by which a choice is weighed */

static const char *const units[] = {[HR_BUDGET_SAMPLES] = "samples",
                                    [HR_BUDGET_UPDATES] = "updates",
                                    [HR_BUDGET_SECONDS] = "seconds"};

enum hr_status hr_tune_check(const struct hr_cli *cli)
{
    static struct hr_cli tuned;
    struct hr_budget budget;
    if (!cli->tune[0] && hr_cli_was_given(cli, "tune-budget"))
        return hr_fail(HR_E_USAGE, "--tune-budget: of what? give --tune too");
    if (!cli->tune[0])
        return hr_cli_was_given(cli, "tune")
                   ? hr_fail(HR_E_USAGE, "--tune \"\": expected NAME=VALUES, as lr=0.005:0.5")
                   : HR_OK;
    if (!hr_budget_parse(cli->tune_budget, &budget))
        return hr_fail(HR_E_USAGE,
                       "--tune-budget %s: expected samples, updates or a time, as 500Ksamples",
                       hr_printable(cli->tune_budget).text);
    return hr_tune_axes(cli, &tuned);
}

/* --- a bare --tune --- */

/* All trials are as long as what is compared: short ones prefer what begins fast. Under staleness
 * the rate that is the best in the end may be the third at half of the length, and among the worst
 * before. */
static struct hr_search usual_search(size_t candidates, double longest)
{
    return (struct hr_search){
        .candidates = candidates, .longest = longest, .finalists = 4, .seeds = 3};
}

/* The best against rates beyond it, once. */
static struct hr_search wider_search(const struct hr_search *first)
{
    struct hr_search search = *first;
    search.candidates = 1 + HR_TRIALS_WIDER;
    search.finalists = 2;
    search.total = 0;
    return search;
}

size_t hr_tune_trainings(const struct hr_cli *cli, const struct hr_compare_runs *runs)
{
    static struct hr_cli tuned;
    struct hr_search_plan plan, wider;
    size_t most = 0;
    for (size_t i = 0; i < runs->per_seed; i++) {
        size_t candidates = 1;
        if (hr_tune_usual_axes(cli, &runs->options[i], &tuned) != HR_OK)
            return 0;
        for (size_t a = 0; a < tuned.naxes; a++)
            candidates *= runs->given[i][tuned.axes[a].option] ? 1 : tuned.axes[a].n;
        const struct hr_search first = usual_search(candidates, 1);
        const struct hr_search again = wider_search(&first);
        if (hr_search_plan(&first, &plan) != HR_OK || hr_search_plan(&again, &wider) != HR_OK)
            return 0;
        most = plan.trials + wider.trials > most ? plan.trials + wider.trials : most;
    }
    return most;
}

/* --- laying out --- */

struct plan {
    struct hr_cli tuned;
    struct hr_held_out held_out;
    size_t pass;              /* samples that a judged run trains on in an epoch */
    struct hr_trials *trials; /* (entries) owned */
};

/* The seed of the validation split is that of the first judged run. */
static enum hr_status hold_out(const struct hr_cli *cli, const struct hr_dataset *dataset,
                               struct plan *plan, struct hr_tuning *tuning)
{
    const double asked = cli->train.validation_fraction;
    tuning->by_default = !hr_held_out_asked(dataset, asked);
    tuning->fraction = tuning->by_default ? usual_fraction : asked;
    HR_TRY(hr_held_out_open(dataset, tuning->fraction, cli->train.seed, &plan->held_out));
    if (hr_sparse_is_model(cli->train.model))
        HR_TRY(hr_held_out_gather(&plan->held_out));
    plan->pass = tuning->by_default ? dataset->train.count : plan->held_out.dataset.train.count;
    tuning->validation_samples = plan->held_out.dataset.test.count;
    return HR_OK;
}

static void name_options(const struct hr_cli *tuned, struct hr_tuning *tuning)
{
    _Static_assert((int)HR_TUNED_OPTIONS >= (int)HR_AXES, "each has its value");
    tuning->noptions = tuned->naxes;
    for (size_t a = 0; a < tuned->naxes; a++)
        tuning->option[a] = hr_cli_option_at(tuned->axes[a].option).row->name;
}

/* Each tuned option has to mean something to some entry. */
static enum hr_status check_obeyed(const struct hr_tuning *tuning)
{
    size_t choices = 0;
    for (size_t e = 0; e < tuning->nentries; e++)
        choices += tuning->entry[e].ncandidates > 1;
    if (tuning->usual)
        return choices ? HR_OK
                       : hr_fail(HR_E_USAGE, "--tune: no entry of --strategies has a rate or a "
                                             "momentum that is left to choose");
    for (size_t a = 0; a < tuning->noptions; a++) {
        bool obeyed = false;
        for (size_t e = 0; e < tuning->nentries; e++)
            obeyed |= !isnan(tuning->entry[e].candidate[0].value[a]);
        if (!obeyed)
            return hr_fail(HR_E_USAGE,
                           "--tune %s: no entry of --strategies obeys it without a value of its "
                           "own",
                           tuning->option[a]);
    }
    return HR_OK;
}

/* What all may spend: --tune-budget, or what the entry with the most candidates needs. */
static enum hr_status resolve_total(const struct hr_cli *cli, const struct plan *plan,
                                    struct hr_tuning *tuning)
{
    const enum hr_budget_unit unit = plan->trials[0].longest.unit;
    struct hr_budget asked;
    tuning->unit = units[unit];
    tuning->longest = plan->trials[0].longest.amount;
    for (size_t e = 0; e < tuning->nentries; e++) {
        struct hr_search_plan paper;
        if (plan->trials[e].longest.unit != unit)
            return hr_fail(HR_E_USAGE,
                           "--tune: %s is as long as its %s, %s as its %s: expected one --budget "
                           "for all",
                           tuning->entry[0].label, units[unit], tuning->entry[e].label,
                           units[plan->trials[e].longest.unit]);
        HR_TRY(hr_search_plan(&plan->trials[e].search, &paper));
        tuning->total = fmax(tuning->total, paper.cost);
        if (tuning->usual) {
            const struct hr_search wider = wider_search(&plan->trials[e].search);
            HR_TRY(hr_search_plan(&wider, &paper));
            tuning->wider = fmax(tuning->wider, paper.cost);
        }
    }
    if (!hr_budget_parse(cli->tune_budget, &asked) || asked.unit == HR_BUDGET_NONE)
        return HR_OK;
    if (asked.unit != unit)
        return hr_fail(HR_E_USAGE, "--tune-budget %s: the runs are measured in %s, expected %s",
                       hr_budget_text(&asked).text, units[unit], units[unit]);
    if (tuning->usual && asked.amount < tuning->total)
        return hr_fail(HR_E_USAGE,
                       "--tune-budget %s: each strategy needs %.0f %s; expected no less, or --tune "
                       "with fewer values (help tune)",
                       hr_budget_text(&asked).text, tuning->total, units[unit]);
    tuning->total = asked.amount;
    return HR_OK;
}

/* All of it, before the first trial. */
static void say_cost(const struct hr_cli *cli, const struct hr_tuning *tuning)
{
    char what[160] = "", text[HR_HUMAN_MAX];
    double most = 0;
    if (cli->quiet)
        return;
    for (size_t e = 0; e < tuning->nentries; e++)
        most += (tuning->entry[e].ncandidates > 1 ? tuning->total : 0) +
                (tuning->entry[e].ncandidates > 2 ? tuning->wider : 0);
    for (size_t a = 0; a < tuning->noptions; a++)
        hr_append(what, sizeof what, "%s%s", a ? ", " : "", tuning->option[a]);
    hr_log(HR_LOG_INFO,
           "tuning %s for each strategy: trials take at most %s %s, as many as %.3g runs", what,
           hr_human_count(text, (uint64_t)most), tuning->unit, most / tuning->longest);
}

static enum hr_status lay_out(const struct hr_cli *cli, const struct hr_compare_runs *runs,
                              struct plan *plan, struct hr_tuning *tuning)
{
    static struct hr_cli own;
    plan->trials = calloc(runs->per_seed, sizeof *plan->trials);
    tuning->entry = calloc(runs->per_seed, sizeof *tuning->entry);
    if (!plan->trials || !tuning->entry)
        return hr_fail(HR_E_NOMEM, "no memory to tune in");
    for (size_t e = 0; e < runs->per_seed; e++) {
        struct hr_trials *trials = &plan->trials[e];
        *trials = (struct hr_trials){.cli = cli,
                                     .dataset = &plan->held_out.dataset,
                                     .pass = plan->pass,
                                     .tuning = tuning,
                                     .entry = &tuning->entry[tuning->nentries++]};
        if (tuning->usual)
            HR_TRY(hr_tune_usual_axes(cli, &runs->options[e], &own));
        HR_TRY(trials_open(trials, tuning->usual ? &own : &plan->tuned, runs, e));
        HR_TRY(trials_check(trials));
        trials->search = (struct hr_search){.candidates = trials->entry->ncandidates,
                                            .longest = trials->longest.amount};
        if (tuning->usual)
            trials->search = usual_search(trials->entry->ncandidates, trials->longest.amount);
        trials->search.train = trials_train;
        trials->search.arg = trials;
    }
    HR_TRY(check_obeyed(tuning));
    return resolve_total(cli, plan, tuning);
}

/* --- searching --- */

/* The largest that was tried, or the smallest, says that more might be better; not where the option
 * goes no further. */
static void find_edges(const struct hr_cli *tuned, const struct hr_tuning *tuning,
                       struct hr_tuned_entry *entry)
{
    for (size_t a = 0; a < tuning->noptions; a++) {
        const struct hr_option_range *range = &hr_cli_option_at(tuned->axes[a].option).row->range;
        const double mine = entry->candidate[entry->chosen].value[a];
        double least = mine, most = mine;
        for (size_t c = 0; c < entry->ncandidates; c++) {
            least = fmin(least, entry->candidate[c].value[a]);
            most = fmax(most, entry->candidate[c].value[a]);
        }
        if (tuning->usual && a > 0)
            continue; /* 0 and the given momentum are no range */
        entry->edge[a] = 0;
        const bool bounded = range->most > range->least;
        if (mine >= most && most > least && !(bounded && mine >= range->most))
            entry->edge[a] = 1;
        else if (mine <= least && most > least && mine > range->least)
            entry->edge[a] = -1;
    }
}

/* A candidate's score is the mean over the last rung that it reached. */
static void find_scores(struct hr_tuned_entry *entry)
{
    for (size_t c = 0; c < entry->ncandidates; c++) {
        size_t rung = 0, n = 0;
        double sum = 0;
        for (size_t t = 0; t < entry->ntrials; t++) {
            const struct hr_tuned_trial *trial = &entry->trial[t];
            if (trial->candidate != c)
                continue;
            sum = trial->rung == rung ? sum : 0;
            n = trial->rung == rung ? n : 0;
            rung = trial->rung;
            sum += trial->score;
            n++;
        }
        entry->candidate[c].score = sum / (double)n; /* 0 / 0: it was not tried */
    }
}

/* Into the runs of all seeds, and into words. */
static void choose(const struct hr_trials *trials, const struct hr_cli *tuned,
                   struct hr_compare_runs *runs, size_t e)
{
    struct hr_tuned_entry *entry = trials->entry;
    const struct hr_train_options *chosen = &trials->candidate[entry->chosen];
    char text[256];
    hr_tuning_values(trials->tuning, &entry->candidate[entry->chosen], ":", text, sizeof text);
    snprintf(entry->setting, sizeof entry->setting, "%s%s%s", runs->text[e], text[0] ? ":" : "",
             text);
    for (size_t a = 0; a < tuned->naxes; a++) {
        const struct hr_option *row = hr_cli_option_at(tuned->axes[a].option).row;
        for (size_t i = e; i < runs->n; i += runs->per_seed)
            if (!isnan(entry->candidate[entry->chosen].value[a]))
                memcpy((char *)&runs->options[i] + row->offset, (const char *)chosen + row->offset,
                       row->size);
    }
}

/* The scores of a candidate in the last round, by seed; how many. */
static size_t last_scores(const struct hr_tuned_entry *entry, size_t candidate, double score[SEEDS])
{
    const size_t last = entry->trial[entry->ntrials - 1].rung;
    size_t n = 0;
    for (size_t t = 0; t < entry->ntrials && n < SEEDS; t++)
        if (entry->trial[t].rung == last && entry->trial[t].candidate == candidate)
            score[n++] = entry->trial[t].score;
    return n;
}

/* The second best of the last round against the best, over its seeds. Who diverged is none. */
static void weigh_choice(const struct hr_tuning *tuning, struct hr_tuned_entry *entry)
{
    double mine[SEEDS], theirs[SEEDS], second = (double)NAN;
    const struct hr_metric_kind *kind = hr_metric_kind(tuning->metric);
    const double step = kind->scale > 1 ? 1 / (double)tuning->validation_samples : 0;
    const size_t n = entry->ntrials ? last_scores(entry, entry->chosen, mine) : 0;
    entry->rival = entry->chosen;
    for (size_t c = 0; c < entry->ncandidates && n; c++) {
        const double score = entry->candidate[c].score;
        if (c == entry->chosen || last_scores(entry, c, theirs) != n || isnan(score) ||
            !(isnan(second) || hr_metric_better(tuning->metric, score, second, 0)))
            continue;
        entry->rival = c;
        second = score;
    }
    if (entry->rival == entry->chosen)
        return;
    last_scores(entry, entry->rival, theirs);
    entry->choice = hr_paired_test(mine, theirs, n, step);
}

/* Where the best lies at an edge, rates beyond it are tried against it. */
static enum hr_status widen(struct plan *plan, size_t e, const struct hr_search_plan *before)
{
    struct hr_trials *trials = &plan->trials[e];
    struct hr_tuned_entry *entry = trials->entry;
    struct hr_search search = wider_search(&trials->search);
    struct hr_search_outcome outcome;
    trials->first_rung = before->nrungs;
    trials->first_seed = before->seeds;
    HR_TRY(trials_widen(trials, entry->edge[0]));
    HR_TRY(hr_search_run(&search, &outcome));
    if (outcome.best)
        entry->chosen = trials->wider + outcome.best - 1;
    hr_search_outcome_free(&outcome);
    find_edges(&plan->tuned, trials->tuning, entry);
    return HR_OK;
}

/* The same settings in all that trials are told. */
static bool is_same_entry(const struct hr_trials *a, const struct hr_trials *b)
{
    const struct hr_option *row;
    bool same = a->entry->ncandidates == b->entry->ncandidates;
    for (size_t i = 0; same && (row = hr_cli_option_at(i).row) != NULL; i++)
        same = row != hr_train_option_find(row->name) ||
               hr_option_equal(row, &a->candidate[0], &b->candidate[0]);
    return same;
}

static bool tried_alike(const struct hr_tuned_entry *a, const struct hr_tuned_entry *b)
{
    bool alike = a->ntrials && b->ntrials && a->trial[0].seed == b->trial[0].seed &&
                 a->trial[0].digest[0] && !strcmp(a->trial[0].digest, b->trial[0].digest);
    for (size_t c = 0; alike && c < b->ncandidates; c++)
        alike = c < a->ncandidates &&
                !memcmp(a->candidate[c].value, b->candidate[c].value, sizeof a->candidate[c].value);
    return alike;
}

/* The choice of another entry, among the candidates that it has come to. */
static void take_choice(struct hr_trials *trials, const struct hr_trials *from)
{
    struct hr_tuned_entry *entry = trials->entry;
    const struct hr_tuned_entry *other = from->entry;
    for (; entry->ncandidates < other->ncandidates; entry->ncandidates++) {
        const size_t c = entry->ncandidates;
        entry->candidate[c] = other->candidate[c];
        entry->candidate[c].trials = entry->candidate[c].samples = 0;
        trials->candidate[c] = trials->candidate[other->chosen % c];
        trials->candidate[c].lr = from->candidate[c].lr;
        trials->candidate[c].momentum = from->candidate[c].momentum;
    }
    entry->same_as = other->label;
    entry->chosen = entry->rival = other->chosen;
}

/* Is an earlier entry the same, or has it the same weights? The latter is asked of the first trial
 * of both, and of entries alone whose updates depend on no order of events. */
static enum hr_status find_same(struct plan *plan, size_t e, const struct hr_search_plan *paper)
{
    struct hr_trials *trials = &plan->trials[e];
    struct hr_tuned_entry *entry = trials->entry;
    struct hr_search_trial trial = {.budget = paper->rung[0].budget};
    if (!trials->tuning->usual || e == 0 || paper->nrungs == 0)
        return HR_OK;
    for (size_t f = 0; f < e && !entry->same_as; f++)
        if (!plan->trials[f].entry->same_as && is_same_entry(&plan->trials[f], trials))
            take_choice(trials, &plan->trials[f]);
    if (entry->same_as || !trials_in_step(trials))
        return HR_OK;
    HR_TRY(trials_train(trials, &trial));
    for (size_t f = 0; f < e && !entry->same_as; f++)
        if (!plan->trials[f].entry->same_as && trials_in_step(&plan->trials[f]) &&
            tried_alike(plan->trials[f].entry, entry))
            take_choice(trials, &plan->trials[f]);
    if (!entry->same_as) { /* the search begins with that trial */
        entry->candidate[0].trials = entry->ntrials = 0;
        entry->candidate[0].samples = entry->samples = 0;
    }
    return HR_OK;
}

static enum hr_status search(struct plan *plan, size_t e, const struct hr_search_plan *paper)
{
    struct hr_trials *trials = &plan->trials[e];
    struct hr_tuned_entry *entry = trials->entry;
    struct hr_search_outcome outcome;
    HR_TRY(hr_search_run(&trials->search, &outcome));
    entry->chosen = outcome.best;
    entry->diverged = outcome.diverged;
    hr_search_outcome_free(&outcome);
    find_edges(&plan->tuned, trials->tuning, entry);
    if (trials->tuning->usual && entry->edge[0] && !entry->diverged)
        HR_TRY(widen(plan, e, paper));
    find_scores(entry);
    weigh_choice(trials->tuning, entry);
    return HR_OK;
}

static enum hr_status tune_entry(struct plan *plan, struct hr_compare_runs *runs, size_t e)
{
    struct hr_trials *trials = &plan->trials[e];
    struct hr_tuned_entry *entry = trials->entry;
    struct hr_tuning *tuning = trials->tuning;
    struct hr_search_plan paper, wider = {0};
    const struct hr_search again = wider_search(&trials->search);
    trials->search.total = tuning->total;
    HR_TRY(hr_search_plan(&trials->search, &paper));
    if (tuning->usual)
        HR_TRY(hr_search_plan(&again, &wider));
    trials->trials = paper.trials;
    entry->trial = calloc(paper.trials + wider.trials + 1, sizeof *entry->trial);
    if (!entry->trial)
        return hr_fail(HR_E_NOMEM, "no memory for %zu trials", paper.trials);
    HR_TRY(find_same(plan, e, &paper));
    if (!entry->same_as)
        HR_TRY(search(plan, e, &paper));
    choose(trials, &plan->tuned, runs, e);
    for (size_t t = 0; t < entry->ntrials; t++)
        if (entry->trial[t].seed > tuning->last_seed)
            tuning->last_seed = entry->trial[t].seed;
    if (trials->cli->details || (!trials->cli->quiet && !hr_terminal_redraws(STDERR_FILENO)))
        hr_log(HR_LOG_INFO, "tuned %s: %zu trials, %llu samples", entry->setting, entry->ntrials,
               (unsigned long long)entry->samples);
    return HR_OK;
}

static enum hr_status tune(const struct hr_cli *cli, const struct hr_dataset *dataset,
                           struct hr_compare_runs *runs, struct plan *plan,
                           struct hr_tuning *tuning)
{
    enum hr_status status = HR_OK;
    tuning->usual = hr_tune_is_usual(cli);
    HR_TRY(hr_tune_axes(cli, &plan->tuned));
    name_options(&plan->tuned, tuning);
    HR_TRY(hold_out(cli, dataset, plan, tuning));
    tuning->metric = hr_sparse_model_of(cli->train.model) == HR_SPARSE_MF
                         ? HR_METRIC_RMSE
                         : hr_metric_of(hr_predicted_of(dataset));
    tuning->first_seed = tuning->last_seed = cli->train.seed + HR_TRIAL_SEEDS;
    HR_TRY(lay_out(cli, runs, plan, tuning));
    say_cost(cli, tuning);
    hr_signals_run_begins();
    for (size_t e = 0; e < tuning->nentries && status == HR_OK; e++)
        status = tune_entry(plan, runs, e);
    hr_signals_run_ended();
    return status;
}

enum hr_status hr_tune(const struct hr_cli *cli, const struct hr_dataset *dataset,
                       struct hr_compare_runs *runs, struct hr_tuning *tuning)
{
    if (!cli->tune[0])
        return HR_OK;
    struct plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return hr_fail(HR_E_NOMEM, "no memory to tune in");
    const int64_t begun = hr_clock_ns();
    const enum hr_status status = tune(cli, dataset, runs, plan, tuning);
    tuning->took_s = hr_seconds(hr_clock_ns() - begun);
    for (size_t e = 0; plan->trials && e < tuning->nentries; e++)
        trials_close(&plan->trials[e]);
    free(plan->trials);
    hr_held_out_close(&plan->held_out);
    free(plan);
    return status;
}
