/* Every entry is laid out as a search before the first trial, so that what cannot be is refused
 * before hours; the one that needs the most says what all may spend. Then entry by entry is
 * searched, and its choice goes into the options of its runs, of all seeds. */
#include "compare/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/printable.h"
#include "base/signals.h"
#include "compare/trials.h"
#include "hogring/sparse.h"
#include "options/choices.h"
#include "options/sweep.h"
#include "options/tune.h"
#include "terminal/output.h"

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
        if (tuning->usual) {
            const struct hr_search wider = wider_search(&plan->search[e]);
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
    double most = 0;
    if (cli->quiet)
        return;
    for (size_t e = 0; e < tuning->nentries; e++)
        most += (tuning->entry[e].ncandidates > 1 ? tuning->total : 0) +
                (tuning->entry[e].ncandidates > 2 ? tuning->wider : 0);
    hr_log(HR_LOG_INFO, "tuning: at most %.0f %s of trials, as long as %.3g runs", most,
           tuning->unit, most / tuning->longest);
}

static enum hr_status lay_out(const struct hr_cli *cli, const struct hr_compare_runs *runs,
                              struct plan *plan, struct hr_tuning *tuning)
{
    static struct hr_cli own;
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
        if (tuning->usual)
            HR_TRY(hr_tune_usual_axes(cli, &runs->options[e], &own));
        HR_TRY(hr_trials_open(trials, tuning->usual ? &own : &plan->tuned, runs, e));
        HR_TRY(hr_trials_check(trials));
        plan->search[e] = (struct hr_search){.candidates = trials->entry->ncandidates,
                                             .longest = trials->longest.amount};
        if (tuning->usual)
            plan->search[e] = usual_search(trials->entry->ncandidates, trials->longest.amount);
        plan->search[e].train = hr_trials_train;
        plan->search[e].arg = trials;
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
    struct hr_search search = wider_search(&plan->search[e]);
    struct hr_search_outcome outcome;
    trials->first_rung = before->nrungs;
    trials->first_seed = before->seeds;
    HR_TRY(hr_trials_widen(trials, entry->edge[0]));
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
    if (entry->same_as || !hr_trials_in_step(trials))
        return HR_OK;
    HR_TRY(hr_trials_train(trials, &trial));
    for (size_t f = 0; f < e && !entry->same_as; f++)
        if (!plan->trials[f].entry->same_as && hr_trials_in_step(&plan->trials[f]) &&
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
    HR_TRY(hr_search_run(&plan->search[e], &outcome));
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
    const struct hr_search again = wider_search(&plan->search[e]);
    plan->search[e].total = tuning->total;
    HR_TRY(hr_search_plan(&plan->search[e], &paper));
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
    HR_TRY(name_options(&plan->tuned, tuning));
    HR_TRY(hold_out(cli, dataset, plan, tuning));
    tuning->metric = dataset->targets.count || hr_sparse_model_of(cli->train.model) == HR_SPARSE_MF
                         ? HR_METRIC_RMSE
                         : HR_METRIC_ACCURACY;
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
    const enum hr_status status = tune(cli, dataset, runs, plan, tuning);
    for (size_t e = 0; plan->trials && e < tuning->nentries; e++)
        hr_trials_close(&plan->trials[e]);
    free(plan->trials);
    free(plan->search);
    hr_held_out_close(&plan->held_out);
    free(plan);
    return status;
}
