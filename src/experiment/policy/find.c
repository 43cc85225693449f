/* Which policies, and the search among them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/size.h"
#include "options/budget.h"
#include "policy/policy.h"

/* --- beforehand --- */

enum hr_status hr_policy_check(const struct hr_cli *cli)
{
    static const char *const outputs[] = {
        "checkpoint-dir", "resume",          "record", "calibrate", "log",
        "tensorboard",    "timeline",        "plot",   "export",    "expect-digest",
        "expect-rmse",    "expect-accuracy", NULL,
    };
    if (!(hr_target_asked(&cli->train) > 0))
        return hr_fail(HR_E_USAGE, "--search: which is best? The first to reach a target: expected "
                                   "--target-accuracy X (or --target-rmse X) with it");
    if (cli->finalists < 1)
        return hr_fail(HR_E_USAGE, "--finalists 0: expected at least 1");
    if (cli->confirm_seeds < 1 || cli->confirm_seeds > HR_POLICY_SEEDS)
        return hr_fail(HR_E_USAGE, "--confirm-seeds %zu: expected 1 to %d", cli->confirm_seeds,
                       HR_POLICY_SEEDS);
    for (size_t i = 0; outputs[i]; i++)
        if (hr_cli_was_given(cli, outputs[i]))
            return hr_fail(
                HR_E_USAGE,
                "--%s: is not supported with --search, which trains many times; expected "
                "in a run of what it has chosen",
                outputs[i]);
    return HR_OK;
}

/* --- a trial --- */

/* A part of the run's length, which in words goes to `length`. */
static void cut_length(struct hr_train_options *options, double part, char length[32])
{
    struct hr_budget budget;
    const double epochs = ceil((double)options->epochs * part - 1e-9);
    if (hr_budget_parse(options->budget, &budget) && budget.unit != HR_BUDGET_NONE) {
        budget.amount *= part;
        snprintf(options->budget, sizeof options->budget, "%s", hr_budget_text(&budget).text);
        snprintf(length, 32, "%s", options->budget);
        return;
    }
    options->epochs = epochs < 1 ? 1 : (size_t)epochs;
    snprintf(length, 32, "%zu epoch%s", options->epochs, options->epochs == 1 ? "" : "s");
}

/* Whoever reaches the target has more than 1, whoever does not at most 1. */
static double score_of(const struct hr_policy_search *search, const struct hr_policy_trial *trial)
{
    if (trial->diverged || isnan(trial->value))
        return NAN;
    if (trial->target_s >= 0)
        return 1 + 1 / (1 + trial->target_s);
    return search->metric == HR_METRIC_RMSE ? 1 / (1 + trial->value) : trial->value;
}

static double last_value(const struct hr_policy_search *search, const struct hr_run_result *result)
{
    return result->ncurve ? hr_metric_at(search->metric, &result->curve[result->ncurve - 1])
                          : (double)NAN;
}

static struct hr_policy_trial what_came_of(const struct hr_policy_search *search,
                                           const struct hr_search_trial *asked, uint64_t seed,
                                           const struct hr_run_result *result, bool diverged)
{
    return (struct hr_policy_trial){
        .policy = asked->candidate,
        .rung = asked->rung,
        .seed = seed,
        .target_s = search->reached ? search->reached_s : -1,
        .value = search->reached ? search->reached_value : last_value(search, result),
        .diverged = diverged && !search->reached,
    };
}

static enum hr_status train(void *arg, struct hr_search_trial *asked)
{
    struct hr_policy_search *search = arg;
    struct hr_train_options options = search->space.options[asked->candidate];
    struct hr_run_result result;
    bool diverged;
    char length[32];
    cut_length(&options, asked->budget, length);
    options.seed += asked->seed;
    search->share = asked->budget;
    hr_policy_begins(search, "trial %zu of %zu, rung %zu of %zu: %s", search->ntrials + 1,
                     search->plan.trials, asked->rung + 1, search->plan.nrungs,
                     search->space.label[asked->candidate]);
    const enum hr_status status = hr_policy_train(search, &options, false, &result, &diverged);
    if (status != HR_OK)
        return hr_fail_within(status, "%s", search->space.label[asked->candidate]);
    struct hr_policy_trial *trial = &search->trial[search->ntrials++];
    *trial = what_came_of(search, asked, options.seed, &result, diverged);
    snprintf(trial->length, sizeof trial->length, "%s", length);
    asked->score.score = score_of(search, trial);
    asked->score.tie = search->reached ? trial->value : -result.seconds;
    hr_run_result_free(&result);
    return HR_OK;
}

/* --- who is best --- */

static struct hr_search halving_of(struct hr_policy_search *search)
{
    return (struct hr_search){
        .candidates = search->space.n, .longest = 1, .train = train, .arg = search};
}

const struct hr_policy_trial *hr_policy_last_trial(const struct hr_policy_search *search,
                                                   size_t policy)
{
    for (size_t i = search->ntrials; i-- > 0;)
        if (search->trial[i].policy == policy)
            return &search->trial[i];
    return NULL;
}

/* Who was tried longer is better; of one rung, who scored higher. */
static bool is_better(const struct hr_policy_search *search, size_t a, size_t b)
{
    const struct hr_policy_trial *x = hr_policy_last_trial(search, a),
                                 *y = hr_policy_last_trial(search, b);
    const double of_x = score_of(search, x), of_y = score_of(search, y);
    if (x->rung != y->rung)
        return x->rung > y->rung;
    return isnan(of_x) || isnan(of_y) ? !isnan(of_x) && isnan(of_y) : of_x > of_y;
}

/* By insertion: equals keep the order of their numbers. */
static void sort_policies(struct hr_policy_search *search)
{
    for (size_t i = 0; i < search->space.n; i++) {
        size_t at = i;
        for (; at > 0 && search->ntrials && is_better(search, i, search->order[at - 1]); at--)
            search->order[at] = search->order[at - 1];
        search->order[at] = i;
    }
}

enum hr_status hr_policy_prepare(struct hr_policy_search *search)
{
    const struct hr_cli *cli = search->cli;
    HR_TRY(hr_policy_check(cli));
    search->metric = cli->train.target_rmse > 0 ? HR_METRIC_RMSE : HR_METRIC_ACCURACY;
    search->target = hr_target_asked(&cli->train);
    HR_TRY(hr_policy_space_read(cli, &search->space));
    HR_TRY(hr_policy_space_check(&search->space, search->dataset));
    const struct hr_search halving = halving_of(search);
    HR_TRY(hr_search_plan(&halving, &search->plan));
    search->nseeds = cli->confirm_seeds;
    search->nfinalists = hr_min_size(cli->finalists, search->space.n);
    search->first_seed = cli->train.seed + search->plan.seeds;
    search->all = search->plan.cost + (double)(search->nseeds * search->nfinalists);
    search->trial = calloc(search->plan.trials + 1, sizeof *search->trial);
    search->order = calloc(search->space.n, sizeof *search->order);
    return search->trial && search->order
               ? HR_OK
               : hr_fail(HR_E_NOMEM, "no memory for %zu trials", search->plan.trials);
}

enum hr_status hr_policy_find(struct hr_policy_search *search)
{
    struct hr_search_outcome outcome;
    const struct hr_search halving = halving_of(search);
    search->began_ns = hr_clock_ns();
    HR_TRY(hr_search_run(&halving, &outcome));
    hr_search_outcome_free(&outcome);
    sort_policies(search);
    search->done = search->plan.cost;
    return HR_OK;
}
