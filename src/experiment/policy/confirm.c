/* The best few on seeds that chose nothing: who is first there is chosen, and it is said from whom
 * it can be told apart. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options/entries.h"
#include "policy/policy.h"
#include "stats/tests.h"
#include "stats/spread.h"
#include "verdict/verdict.h"

static const double ALPHA = 0.05;

static enum hr_status train_finalist(struct hr_policy_search *search, struct hr_finalist *finalist)
{
    struct hr_train_options options = search->space.options[finalist->policy];
    const char *label = search->space.label[finalist->policy];
    search->share = 1;
    for (size_t s = 0; s < search->nseeds; s++) {
        options.seed = search->first_seed + s;
        hr_policy_begins(search, "confirming %s, seed %llu", label,
                         (unsigned long long)options.seed);
        HR_TRY(hr_policy_train(search, &options, true, &finalist->run[s], &finalist->diverged[s]));
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
    const struct hr_interval logs = hr_mean_interval(&spread, 0.975);
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

static void add(struct hr_policy_search *search, const char *text)
{
    const size_t used = strlen(search->verdict);
    snprintf(search->verdict + used, sizeof search->verdict - used, "%s", text);
}

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
        add(search, said ? ", " : before);
        add(search, search->space.label[finalist->policy]);
        said = true;
    }
    return said;
}

static void say_verdict(struct hr_policy_search *search)
{
    const struct hr_finalist *first = &search->finalist[0];
    add(search, "chosen: ");
    add(search, search->space.label[first->policy]);
    if (!first->reached)
        add(search, ", though no finalist reaches the target on these seeds");
    add_names(search, SAME, "; the same to the bit as ");
    add_names(search, LATER, "; significantly sooner than ");
    if (add_names(search, OPEN, "; not significantly different from "))
        add(search, " over these seeds: take either, or more --confirm-seeds");
    if (add_names(search, UNLIKE, "; not like for like with "))
        add(search, ", whose updates are of other sizes at one rate: search lr too");
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
