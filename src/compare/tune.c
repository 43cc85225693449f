/* Every entry is laid out as a search before the first trial, so that what cannot be is refused
 * before hours; the one that needs the most says what all may spend. Then entry by entry is
 * searched, and its choice goes into the options of its runs, of all seeds. */
#include "compare/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/printable.h"
#include "base/signals.h"
#include "compare/trials.h"
#include "hogring/sparse.h"
#include "options/sweep.h"
#include "options/tune.h"

static const double usual_fraction = 0.2;

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
    if (cli->concurrent)
        return hr_fail(HR_E_USAGE, "--tune: means nothing with --concurrent: tune without it, then "
                                   "compare the --strategies that it prints");
    if (hr_cli_was_given(cli, "resume"))
        return hr_fail(HR_E_USAGE, "--tune: means nothing with --resume: what goes on has its "
                                   "values");
    return hr_tune_axes(cli, &tuned);
}

/* --- a bare --tune --- */

enum {
    LEAST_UPDATES = 30, /* of a trial: fewer tell little of a rate, and nothing of momentum */
    LAST_SEEDS = 3,     /* of the last round: how far the choice may be trusted */
    WIDER = 3,          /* rates beyond the edge at which the best lies, beside the best itself */
};

static struct hr_search usual_search(size_t candidates, double longest, double least)
{
    return (struct hr_search){
        .candidates = candidates, .longest = longest, .least = least, .seeds = LAST_SEEDS};
}

/* All may spend what the one that needs most does. */
double hr_tune_trainings(const struct hr_cli *cli, const struct hr_compare_runs *runs,
                         const double *updates)
{
    static struct hr_cli tuned;
    struct hr_search_plan plan;
    double most = 0, wider = 0;
    for (size_t i = 0; i < runs->per_seed; i++) {
        const double least = LEAST_UPDATES / fmax(updates[i], LEAST_UPDATES);
        size_t candidates = 1;
        if (hr_tune_usual_axes(cli, &runs->options[i], &tuned) != HR_OK)
            return 0;
        for (size_t a = 0; a < tuned.naxes; a++)
            candidates *= runs->given[i][tuned.axes[a].option] ? 1 : tuned.axes[a].n;
        struct hr_search search = usual_search(candidates, 1, least);
        most = hr_search_plan(&search, &plan) == HR_OK ? fmax(most, plan.cost) : most;
        search.candidates = 1 + WIDER;
        wider = hr_search_plan(&search, &plan) == HR_OK ? fmax(wider, plan.cost) : wider;
    }
    return most > 0 ? most + wider : 0;
}

/* --- laying out --- */

struct plan {
    struct hr_cli tuned;
    struct hr_held_out held_out;
    size_t pass;              /* samples that a judged run trains on in an epoch */
    struct hr_trials *trials; /* (entries) owned */
    struct hr_search *search; /* (entries) owned */
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

static enum hr_status name_options(const struct hr_cli *tuned, struct hr_tuning *tuning)
{
    _Static_assert((int)HR_TUNED_OPTIONS >= (int)HR_AXES, "each has its value");
    tuning->noptions = tuned->naxes;
    for (size_t a = 0; a < tuned->naxes; a++)
        tuning->option[a] = hr_cli_option_at(tuned->axes[a].option).row->name;
    return HR_OK;
}

/* Each tuned option has to mean something to some entry. */
static enum hr_status check_obeyed(const struct hr_tuning *tuning)
{
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
static enum hr_status settle_total(const struct hr_cli *cli, const struct plan *plan,
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
        HR_TRY(hr_search_plan(&plan->search[e], &paper));
        tuning->total = fmax(tuning->total, paper.cost);
    }
    if (!hr_budget_parse(cli->tune_budget, &asked) || asked.unit == HR_BUDGET_NONE)
        return HR_OK;
    if (asked.unit != unit)
        return hr_fail(HR_E_USAGE, "--tune-budget %s: the runs are measured in %s, expected %s",
                       hr_budget_text(&asked).text, units[unit], units[unit]);
    tuning->total = asked.amount;
    return HR_OK;
}

static enum hr_status lay_out(const struct hr_cli *cli, const struct hr_compare_runs *runs,
                              struct plan *plan, struct hr_tuning *tuning)
{
    plan->trials = calloc(runs->per_seed, sizeof *plan->trials);
    plan->search = calloc(runs->per_seed, sizeof *plan->search);
    tuning->entry = calloc(runs->per_seed, sizeof *tuning->entry);
    if (!plan->trials || !plan->search || !tuning->entry)
        return hr_fail(HR_E_NOMEM, "no memory to tune in");
    for (size_t e = 0; e < runs->per_seed; e++) {
        struct hr_trials *trials = &plan->trials[e];
        *trials = (struct hr_trials){.cli = cli,
                                     .dataset = &plan->held_out.dataset,
                                     .pass = plan->pass,
                                     .tuning = tuning,
                                     .entry = &tuning->entry[tuning->nentries++]};
        HR_TRY(hr_trials_open(trials, &plan->tuned, runs, e));
        HR_TRY(hr_trials_check(trials));
        plan->search[e] = (struct hr_search){.candidates = trials->entry->ncandidates,
                                             .longest = trials->longest.amount,
                                             .train = hr_trials_train,
                                             .arg = trials};
    }
    HR_TRY(check_obeyed(tuning));
    return settle_total(cli, plan, tuning);
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

static enum hr_status search(struct plan *plan, struct hr_compare_runs *runs, size_t e)
{
    struct hr_trials *trials = &plan->trials[e];
    struct hr_tuned_entry *entry = trials->entry;
    struct hr_search_plan paper;
    struct hr_search_outcome outcome;
    plan->search[e].total = trials->tuning->total;
    HR_TRY(hr_search_plan(&plan->search[e], &paper));
    trials->trials = paper.trials;
    entry->trial = calloc(paper.trials + 1, sizeof *entry->trial);
    if (!entry->trial)
        return hr_fail(HR_E_NOMEM, "no memory for %zu trials", paper.trials);
    HR_TRY(hr_search_run(&plan->search[e], &outcome));
    entry->chosen = outcome.best;
    entry->diverged = outcome.diverged;
    hr_search_outcome_free(&outcome);
    find_scores(entry);
    find_edges(&plan->tuned, trials->tuning, entry);
    choose(trials, &plan->tuned, runs, e);
    for (size_t t = 0; t < entry->ntrials; t++)
        if (entry->trial[t].seed > trials->tuning->last_seed)
            trials->tuning->last_seed = entry->trial[t].seed;
    if (!trials->cli->quiet)
        hr_log(HR_LOG_INFO, "tuned %s: %zu trials, %llu samples", entry->setting, entry->ntrials,
               (unsigned long long)entry->samples);
    return HR_OK;
}

static enum hr_status tune(const struct hr_cli *cli, const struct hr_dataset *dataset,
                           struct hr_compare_runs *runs, struct plan *plan,
                           struct hr_tuning *tuning)
{
    enum hr_status status = HR_OK;
    HR_TRY(hr_tune_axes(cli, &plan->tuned));
    HR_TRY(name_options(&plan->tuned, tuning));
    HR_TRY(hold_out(cli, dataset, plan, tuning));
    tuning->metric = dataset->targets.count || !strcmp(cli->train.model, "mf") ? HR_METRIC_RMSE
                                                                               : HR_METRIC_ACCURACY;
    tuning->first_seed = tuning->last_seed = cli->train.seed + HR_TRIAL_SEEDS;
    HR_TRY(lay_out(cli, runs, plan, tuning));
    hr_signals_run_begins();
    for (size_t e = 0; e < tuning->nentries && status == HR_OK; e++)
        status = search(plan, runs, e);
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
    const enum hr_status status = tune(cli, dataset, runs, plan, tuning);
    for (size_t e = 0; plan->trials && e < tuning->nentries; e++)
        hr_trials_close(&plan->trials[e]);
    free(plan->trials);
    free(plan->search);
    hr_held_out_close(&plan->held_out);
    free(plan);
    return status;
}
