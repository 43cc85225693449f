/* Which policies, and the search among them. */
#include "policy/policy.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/signals.h"
#include "base/size.h"
#include "base/text.h"
#include "base/parse.h"
#include "options/budget.h"
#include "options/sweep.h"
#include "options/train_options.h"
#include "stats/tests.h"
#include "verdict/verdict.h"

/* --- one run of a search, and what is said of it while it goes on --- */

static double left_s(const struct hr_policy_search *search, double share)
{
    const double done = search->done + share, passed = hr_seconds(hr_clock_ns() - search->began_ns);
    return done > 0 && passed > 1 ? passed / done * (search->all - done) : (double)NAN;
}

/* Tell of what begins. */
static void policy_begins(struct hr_policy_search *search, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(search->what, sizeof search->what, format, args);
    va_end(args);
    if (search->report)
        search->report(search->arg, search->what, left_s(search, 0));
}

static void on_progress(void *arg, const struct hr_progress *progress)
{
    struct hr_policy_search *search = arg;
    const double part = progress->total ? (double)progress->samples / (double)progress->total : 0;
    if (search->report)
        search->report(search->arg, search->what, left_s(search, part * search->share));
}

static void on_point(void *arg, const struct hr_curve_point *point)
{
    struct hr_policy_search *search = arg;
    const double value = hr_metric_at(search->metric, point);
    if (search->reached || isnan(value) ||
        hr_metric_better(search->metric, search->target, value, 0))
        return;
    search->reached = true;
    search->reached_s = point->seconds;
    search->reached_value = value;
}

static int on_question(void *arg)
{
    const struct hr_policy_search *search = arg;
    const int seen = hr_signals_seen(NULL);
    return seen ? seen : search->reached && !search->to_the_end;
}

/* Train; a run that diverges is no error. to_the_end: also where it reaches the target. Its share
 * of the whole is search->share. HR_E_INTERRUPTED. */
static enum hr_status policy_train(struct hr_policy_search *search,
                                   const struct hr_train_options *options, bool to_the_end,
                                   struct hr_run_result *result, bool *diverged)
{
    const struct hr_observer observer = {
        .arg = search, .progress = on_progress, .evaluated = on_point, .should_stop = on_question};
    search->reached = false;
    search->to_the_end = to_the_end;
    enum hr_status status = hr_train(options, search->dataset, &observer, result);
    *diverged = status == HR_E_DIVERGED;
    if (hr_signals_seen(NULL)) {
        if (status == HR_OK)
            hr_run_result_free(result);
        return hr_fail(HR_E_INTERRUPTED, "interrupted: %s", search->what);
    }
    if (*diverged) {
        *result = (struct hr_run_result){.target_seconds = -1};
        status = HR_OK;
    }
    search->done += search->share;
    return status;
}

/* --- beforehand --- */

/* "5", "5,real" */
static bool read_confirm(struct hr_policy_search *search)
{
    char number[sizeof search->cli->confirm];
    uint64_t n;
    snprintf(number, sizeof number, "%s", search->cli->confirm);
    char *comma = strchr(number, ',');
    search->confirms_real = comma && !strcmp(comma, ",real");
    if (search->confirms_real)
        *comma = '\0';
    search->nseeds = hr_parse_count(number, &n) && n <= HR_POLICY_SEEDS ? n : 0;
    return search->nseeds > 0;
}

enum hr_status hr_policy_check(struct hr_policy_search *search)
{
    const struct hr_cli *cli = search->cli;
    static const char *const outputs[] = {
        "checkpoint-dir", "resume", "record", "calibrate", "log", "tensorboard",
        "timeline",       "plot",   "export", "expect",    NULL,
    };
    if (!(hr_target_asked(&cli->train).value > 0))
        return hr_fail(HR_E_USAGE, "--search: which is best? The first to reach a target: expected "
                                   "--time-to accuracy=X (or rmse=X, loss=X) with it");
    if (!read_confirm(search))
        return hr_fail(HR_E_USAGE, "--search confirm=%s: expected 1 to %d seeds, as 5, or 5,real",
                       cli->confirm, HR_POLICY_SEEDS);
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
    return hr_metric_kind(search->metric)->higher ? trial->value : 1 / (1 + trial->value);
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

static enum hr_status train_trial(void *arg, struct hr_search_trial *asked)
{
    struct hr_policy_search *search = arg;
    struct hr_train_options options = search->space.options[asked->candidate];
    struct hr_run_result result;
    bool diverged;
    char length[32];
    cut_length(&options, asked->budget, length);
    options.seed += asked->seed;
    search->share = asked->budget;
    policy_begins(search, "trial %zu of %zu, rung %zu of %zu: %s", search->ntrials + 1,
                  search->plan.trials, asked->rung + 1, search->plan.nrungs,
                  search->space.label[asked->candidate]);
    const enum hr_status status = policy_train(search, &options, false, &result, &diverged);
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
        .candidates = search->space.n, .longest = 1, .train = train_trial, .arg = search};
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

/* Losses of unlike functions are in unlike units: none is sooner at one. */
static enum hr_status check_losses(const struct hr_policy_search *search)
{
    char first[HR_LOSS_TEXT_MAX], other[HR_LOSS_TEXT_MAX];
    if (search->metric != HR_METRIC_LOSS)
        return HR_OK;
    hr_train_loss_text(&search->space.options[0], first);
    for (size_t i = 1; i < search->space.n; i++) {
        hr_train_loss_text(&search->space.options[i], other);
        if (strcmp(first, other) != 0)
            return hr_fail(HR_E_USAGE,
                           "--time-to loss=%g: losses of %s and of %s are in unlike units; "
                           "expected another target, as accuracy=0.9",
                           search->target, first, other);
    }
    return HR_OK;
}

enum hr_status hr_policy_prepare(struct hr_policy_search *search)
{
    const struct hr_cli *cli = search->cli;
    search->metric = hr_target_asked(&cli->train).metric;
    search->target = hr_target_asked(&cli->train).value;
    HR_TRY(hr_policy_space_read(cli, &search->space));
    HR_TRY(hr_policy_space_check(&search->space, search->dataset));
    HR_TRY(check_losses(search));
    const struct hr_search halving = halving_of(search);
    HR_TRY(hr_search_plan(&halving, &search->plan));
    search->nfinalists = hr_min_size(HR_POLICY_FINALISTS, search->space.n);
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

/* --- confirmed ---
 * The best few on seeds that chose nothing: who is first there is chosen, and it is said from whom
 * it can be told apart. */

static const double ALPHA = 0.05;

static enum hr_status train_finalist(struct hr_policy_search *search, struct hr_finalist *finalist)
{
    struct hr_train_options options = search->space.options[finalist->policy];
    const char *label = search->space.label[finalist->policy];
    search->share = 1;
    for (size_t s = 0; s < search->nseeds; s++) {
        options.seed = search->first_seed + s;
        policy_begins(search, "confirming %s, seed %llu", label, (unsigned long long)options.seed);
        HR_TRY(policy_train(search, &options, true, &finalist->run[s], &finalist->diverged[s]));
    }
    return HR_OK;
}

/* Times as logarithms: what slows a run multiplies them. */
static void sum_up(const struct hr_policy_search *search, struct hr_finalist *finalist)
{
    const size_t n = search->nseeds;
    double times[HR_POLICY_SEEDS] = {0}, values = 0;
    size_t measured = 0;
    for (size_t s = 0; s < n; s++) {
        const struct hr_run_result *run = &finalist->run[s];
        if (run->target_seconds >= 0)
            times[finalist->reached++] = log(run->target_seconds);
        if (!finalist->diverged[s] && ++measured)
            values += hr_metric_at(search->metric, &run->curve[run->ncurve - 1]);
    }
    const struct hr_spread spread = hr_spread_of(times, finalist->reached);
    finalist->mean_s = finalist->reached ? exp(spread.mean) : (double)NAN;
    finalist->value = measured ? values / (double)measured : (double)NAN;
    finalist->interval = (struct hr_interval){NAN, NAN};
    if (finalist->reached < n || n < 2)
        return;
    const struct hr_interval logs = hr_mean_interval(&spread, 0.95);
    finalist->interval = (struct hr_interval){exp(logs.low), exp(logs.high)};
}

/* --- who is chosen --- */

/* Who reached the target more often; then sooner; then who came to more. */
static int compare(const struct hr_policy_search *search, const struct hr_finalist *a,
                   const struct hr_finalist *b)
{
    if (a->reached != b->reached)
        return a->reached > b->reached ? -1 : 1;
    if (a->reached && a->mean_s != b->mean_s)
        return a->mean_s < b->mean_s ? -1 : 1;
    if (hr_metric_better(search->metric, a->value, b->value, 0))
        return -1;
    return hr_metric_better(search->metric, b->value, a->value, 0);
}

static void sort_finalists(struct hr_policy_search *search)
{
    for (size_t i = 1; i < search->nfinalists; i++) {
        const struct hr_finalist one = search->finalist[i];
        size_t at = i;
        for (; at > 0 && compare(search, &one, &search->finalist[at - 1]) < 0; at--)
            search->finalist[at] = search->finalist[at - 1];
        search->finalist[at] = one;
    }
}

/* Its runs as a group; false: one diverged, and is no sample of anything. */
static bool group_of(const struct hr_policy_search *search, const struct hr_finalist *finalist,
                     const struct hr_run_result **runs, struct hr_run_group *group)
{
    *group = (struct hr_run_group){.n = search->nseeds, .run = runs};
    for (size_t s = 0; s < search->nseeds; s++) {
        runs[s] = &finalist->run[s];
        if (finalist->diverged[s])
            return false;
    }
    return true;
}

bool hr_policy_tuned(const struct hr_policy_search *search)
{
    for (size_t i = 1; i < search->space.n; i++)
        if (fabs(search->space.options[i].lr - search->space.options[0].lr) > 0)
            return true;
    return false;
}

/* Paired by seed: the same weights, order of samples, and times of gradients. */
static void compare_to_first(const struct hr_policy_search *search, struct hr_finalist *finalist)
{
    const struct hr_run_result *ours[HR_POLICY_SEEDS], *firsts[HR_POLICY_SEEDS];
    struct hr_run_group own, first;
    finalist->p = NAN;
    if (search->nseeds < 2 || !group_of(search, finalist, ours, &own) ||
        !group_of(search, &search->finalist[0], firsts, &first))
        return;
    finalist->same = hr_groups_identical(&first, &own);
    finalist->unlike = !hr_policy_tuned(search) && hr_alike_pair(&first, &own) == HR_UNLIKE;
    if (!finalist->same && !finalist->unlike)
        finalist->p = hr_pair_costs(&first, &own, HR_COST_SECONDS).test.p;
}

static void test_finalists(struct hr_policy_search *search)
{
    struct hr_comparison *tests = calloc(search->nfinalists, sizeof *tests);
    size_t n = 0;
    for (size_t i = 0; i < search->nfinalists; i++) {
        struct hr_finalist *finalist = &search->finalist[i];
        finalist->p = NAN;
        if (i)
            compare_to_first(search, finalist);
        if (tests && !isnan(finalist->p))
            tests[n++] = (struct hr_comparison){.a = 0, .b = i, .p = finalist->p};
    }
    if (n)
        hr_holm_adjust(tests, n);
    for (size_t k = 0; k < n; k++)
        search->finalist[tests[k].b].p = tests[k].p;
    free(tests);
}

/* --- in a sentence --- */

enum standing { SAME, LATER, OPEN, UNLIKE };

/* Beside the chosen one; one that reached the target less often is neither. */
static bool stands(const struct hr_policy_search *search, const struct hr_finalist *finalist,
                   enum standing standing)
{
    const bool later = finalist->p < ALPHA;
    if (standing == SAME || finalist->same)
        return standing == SAME && finalist->same;
    if (standing == UNLIKE || finalist->unlike)
        return standing == UNLIKE && finalist->unlike;
    return standing == LATER ? later : !later && finalist->reached == search->finalist[0].reached;
}

static bool add_names(struct hr_policy_search *search, enum standing standing, const char *before)
{
    bool said = false;
    for (size_t i = 1; i < search->nfinalists; i++) {
        const struct hr_finalist *finalist = &search->finalist[i];
        if (!stands(search, finalist, standing))
            continue;
        hr_append(search->verdict, sizeof search->verdict, "%s%s", said ? ", " : before,
                  search->space.label[finalist->policy]);
        said = true;
    }
    return said;
}

static void say_verdict(struct hr_policy_search *search)
{
    const struct hr_finalist *first = &search->finalist[0];
    char *text = search->verdict;
    const size_t size = sizeof search->verdict;
    snprintf(text, size, "chosen: %s%s", search->space.label[first->policy],
             first->reached ? "" : ", though no finalist reaches the target on these seeds");
    add_names(search, SAME, "; the same to the bit as ");
    add_names(search, LATER, "; significantly sooner than ");
    if (add_names(search, OPEN, "; not significantly different from "))
        hr_append(text, size, " over these seeds: take either, or more seeds (confirm=)");
    if (add_names(search, UNLIKE, "; not like for like with "))
        hr_append(text, size, ", whose updates are of other sizes at one rate: search lr too");
}

static enum hr_status make_finalists(struct hr_policy_search *search)
{
    search->finalist = calloc(search->nfinalists, sizeof *search->finalist);
    if (!search->finalist)
        return hr_fail(HR_E_NOMEM, "no memory for finalists");
    for (size_t i = 0; i < search->nfinalists; i++) {
        struct hr_finalist *finalist = &search->finalist[i];
        finalist->policy = search->order[i];
        finalist->run = calloc(search->nseeds, sizeof *finalist->run);
        finalist->diverged = calloc(search->nseeds, sizeof *finalist->diverged);
        if (!finalist->run || !finalist->diverged)
            return hr_fail(HR_E_NOMEM, "no memory for the runs of finalists");
    }
    return HR_OK;
}

static enum hr_status name_settings(struct hr_policy_search *search)
{
    struct hr_train_options *options = calloc(search->nfinalists, sizeof *options);
    if (!options)
        return hr_fail(HR_E_NOMEM, "no memory for finalists");
    for (size_t i = 0; i < search->nfinalists; i++)
        options[i] = search->space.options[search->order[i]];
    for (size_t i = 0; i < search->nfinalists; i++)
        hr_entry_setting(options, search->nfinalists, i, search->finalist[i].setting,
                         sizeof search->finalist[i].setting);
    free(options);
    return HR_OK;
}

enum hr_status hr_policy_confirm(struct hr_policy_search *search)
{
    HR_TRY(make_finalists(search));
    HR_TRY(name_settings(search));
    for (size_t i = 0; i < search->nfinalists; i++) {
        HR_TRY(train_finalist(search, &search->finalist[i]));
        sum_up(search, &search->finalist[i]);
    }
    sort_finalists(search);
    test_finalists(search);
    say_verdict(search);
    return HR_OK;
}

void hr_policy_free(struct hr_policy_search *search)
{
    for (size_t i = 0; search->finalist && i < search->nfinalists; i++) {
        struct hr_finalist *finalist = &search->finalist[i];
        for (size_t s = 0; finalist->run && s < search->nseeds; s++)
            hr_run_result_free(&finalist->run[s]);
        free(finalist->run);
        free(finalist->diverged);
    }
    for (size_t s = 0; search->real && s < search->nseeds; s++)
        hr_run_result_free(&search->real[s]);
    free(search->finalist);
    free(search->real);
    free(search->trial);
    free(search->order);
    hr_policy_space_free(&search->space);
}

/* --- in real time ---
 * The chosen policy by the machine's clock: how wrong was the forecast? Gradients take as long as
 * their model says, and whoever is slow is slow (workers sleep); what only virtual time has, is
 * left out, and said. */

static void leave_out_of(struct hr_policy_search *search, char *field, const char *name)
{
    if (!field[0])
        return;
    field[0] = '\0';
    hr_append(search->real_without, sizeof search->real_without, "%s--%s",
              search->real_without[0] ? ", " : "", name);
}

/* Emulated links exist between workers whose gradients are summed over them (transport copy). */
static struct hr_train_options real_options(struct hr_policy_search *search)
{
    struct hr_train_options options = search->space.options[search->finalist[0].policy];
    snprintf(options.clock, sizeof options.clock, "real");
    leave_out_of(search, options.server_time, "servers time=");
    leave_out_of(search, options.topology, "topology");
    if (strcmp(options.strategy, "allreduce") != 0)
        leave_out_of(search, options.link, "link");
    else if (options.link[0])
        snprintf(options.transport, sizeof options.transport, "copy");
    return options;
}

enum hr_status hr_policy_run_real(struct hr_policy_search *search)
{
    struct hr_train_options options = real_options(search);
    const char *label = search->space.label[search->finalist[0].policy];
    search->real = calloc(search->nseeds, sizeof *search->real);
    if (!search->real)
        return hr_fail(HR_E_NOMEM, "no memory for runs in real time");
    search->share = 0;
    for (size_t s = 0; s < search->nseeds; s++) {
        bool diverged;
        options.seed = search->first_seed + s;
        policy_begins(search, "%s in real time, seed %llu (%.3g s)", label,
                      (unsigned long long)options.seed, search->finalist[0].run[s].seconds);
        const enum hr_status status =
            policy_train(search, &options, true, &search->real[s], &diverged);
        if (status != HR_OK)
            return hr_fail_within(status, "--search confirm=5,real: %s", label);
    }
    return HR_OK;
}

struct hr_forecast_error hr_policy_forecast(const struct hr_policy_search *search)
{
    const struct hr_finalist *first = &search->finalist[0];
    struct hr_forecast_error error = {0};
    double logs = 0;
    for (size_t s = 0; s < search->nseeds; s++) {
        const struct hr_run_result *real = &search->real[s], *said = &first->run[s];
        if (real->target_seconds >= 0 && said->target_seconds > 0 && ++error.both)
            logs += log(real->target_seconds / said->target_seconds);
        if (real->ncurve && said->ncurve && ++error.measured)
            error.value += hr_metric_at(search->metric, &real->curve[real->ncurve - 1]) -
                           hr_metric_at(search->metric, &said->curve[said->ncurve - 1]);
        error.reached += real->target_seconds >= 0;
    }
    error.ratio = error.both ? exp(logs / (double)error.both) : (double)NAN;
    error.value = error.measured ? error.value / (double)error.measured : (double)NAN;
    return error;
}
