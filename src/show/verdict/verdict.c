#include "verdict/verdict.h"

#include <math.h>
#include <stdlib.h>

bool hr_verdict_tested(const struct hr_verdict *v, size_t g)
{
    return hr_run_group_seeds(&v->groups.group[g]) > 1 && !v->groups.group[g].interrupted &&
           isfinite(v->score[g].mean);
}

static bool has(const struct hr_groups *groups, enum hr_metric metric)
{
    for (size_t g = 0; g < groups->n; g++)
        if (isfinite(hr_run_group_metric(&groups->group[g], metric).mean))
            return true;
    return false;
}

static enum hr_metric compared(const struct hr_groups *groups)
{
    return has(groups, HR_METRIC_ACCURACY) ? HR_METRIC_ACCURACY
           : has(groups, HR_METRIC_RMSE)   ? HR_METRIC_RMSE
                                           : HR_METRIC_LOSS;
}

bool hr_verdict_below(const struct hr_verdict *v, size_t g, size_t than)
{
    const double rounding = 1e-12 * fabs(v->score[than].mean); /* of means: no difference */
    return hr_metric_better(v->metric, v->score[than].mean, v->score[g].mean, rounding);
}

bool hr_verdict_shares_best(const struct hr_verdict *v, size_t g, size_t than)
{
    (void)than;
    return g == v->best ||
           (hr_verdict_tested(v, g) && v->twin[g] == g && !hr_verdict_below(v, g, v->best));
}

static void measure(struct hr_verdict *v)
{
    v->metric = compared(&v->groups);
    v->best = v->groups.n;
    for (size_t g = 0; g < v->groups.n; g++)
        v->score[g] = hr_run_group_metric(&v->groups.group[g], v->metric);
    v->unlike = !v->wish.tuned && hr_alikeness_of(&v->groups).kind == HR_UNLIKE;
    for (size_t g = 0; g < v->groups.n; g++) {
        const size_t seeds = hr_run_group_seeds(&v->groups.group[g]);
        if (!hr_verdict_tested(v, g))
            continue;
        v->least_seeds = v->most_seeds && v->least_seeds < seeds ? v->least_seeds : seeds;
        v->most_seeds = v->most_seeds > seeds ? v->most_seeds : seeds;
        if (!v->unlike && (v->best == v->groups.n || hr_verdict_below(v, v->best, g)))
            v->best = g;
    }
}

static void find_twins(struct hr_verdict *v)
{
    for (size_t g = 0; g < v->groups.n; g++) {
        v->twin[g] = g;
        for (size_t i = 0; i < g && v->twin[g] == g && hr_verdict_tested(v, g); i++)
            if (hr_verdict_tested(v, i) &&
                hr_groups_identical(&v->groups.group[i], &v->groups.group[g]))
                v->twin[g] = v->twin[i];
    }
}

static bool test_scores(const void *arg, size_t a, size_t b, struct hr_pair *pair)
{
    const struct hr_verdict *v = arg;
    if (v->unlike || !hr_verdict_tested(v, a) || !hr_verdict_tested(v, b))
        return false;
    pair->test = hr_pair_scores(&v->groups.group[a], &v->groups.group[b], v->metric);
    return pair->test.n > 1;
}

static bool test_costs(const void *arg, size_t a, size_t b, struct hr_pair *pair, enum hr_cost cost)
{
    const struct hr_verdict *v = arg;
    if (v->unlike || !hr_verdict_tested(v, a) || !hr_verdict_tested(v, b))
        return false;
    const struct hr_paired_times times =
        hr_pair_costs(&v->groups.group[a], &v->groups.group[b], cost);
    pair->test = times.test;
    pair->exact = times.exact;
    pair->unknown = times.unknown;
    return pair->test.n > 1;
}

static bool test_seconds(const void *arg, size_t a, size_t b, struct hr_pair *pair)
{
    return test_costs(arg, a, b, pair, HR_COST_SECONDS);
}

static bool test_samples(const void *arg, size_t a, size_t b, struct hr_pair *pair)
{
    return test_costs(arg, a, b, pair, HR_COST_SAMPLES);
}

/* Equal weights took equally many samples, but not equally long. */
static enum hr_status test_all(struct hr_verdict *v)
{
    size_t *alone = calloc(v->groups.n + 1, sizeof *alone);
    struct hr_family_wish wish = {.groups = v->groups.n,
                                  .twin = v->twin,
                                  .test = test_scores,
                                  .arg = v,
                                  .margin = hr_verdict_margin(v),
                                  .higher = hr_metric_kind(v->metric)->higher};
    enum hr_status status = HR_OK;
    if (!alone)
        return hr_fail(HR_E_NOMEM, "no memory to compare %zu strategies", v->groups.n);
    for (size_t g = 0; g < v->groups.n; g++)
        alone[g] = g;
    HR_TRY_GOTO(hr_family_make(&v->score_tests, &wish), status, out);
    wish.margin = 0;
    wish.test = test_samples;
    if (v->wish.target > 0)
        HR_TRY_GOTO(hr_family_make(&v->cost_tests[HR_COST_SAMPLES], &wish), status, out);
    wish.test = test_seconds;
    wish.twin = alone;
    if (v->wish.target > 0)
        HR_TRY_GOTO(hr_family_make(&v->cost_tests[HR_COST_SECONDS], &wish), status, out);
out:
    free(alone);
    return status;
}

double hr_verdict_p(const struct hr_verdict *v, size_t a, size_t b)
{
    return a == b ? 1 : hr_family_pair(&v->score_tests, a, b)->p;
}

bool hr_verdict_worse_than(const struct hr_verdict *v, size_t g, size_t than)
{
    return hr_metric_kind(v->metric)->higher ? hr_family_higher(&v->score_tests, than, g)
                                             : hr_family_higher(&v->score_tests, g, than);
}

bool hr_verdict_worse(const struct hr_verdict *v, size_t g)
{
    return v->best < v->groups.n && hr_verdict_tested(v, g) && hr_verdict_worse_than(v, g, v->best);
}

const char *hr_verdict_at(const struct hr_verdict *v, char text[HR_VERDICT_AT])
{
    const char *at = v->wish.at ? v->wish.at : "";
    snprintf(text, HR_VERDICT_AT, "%s%s", at[0] ? ", at " : "", at);
    return text;
}

double hr_verdict_margin(const struct hr_verdict *v)
{
    return v->wish.margin / hr_metric_kind(v->metric)->scale;
}

bool hr_verdict_not_worse(const struct hr_verdict *v, size_t a, size_t b)
{
    const struct hr_pair *pair = hr_family_pair(&v->score_tests, a, b);
    return pair->state == HR_PAIR_IDENTICAL ||
           (v->wish.margin > 0 && pair->not_worse_p < HR_VERDICT_LEVEL);
}

const char *hr_verdict_word(const struct hr_verdict *v, const struct hr_family *family, size_t a,
                            size_t b)
{
    const bool scores = family == &v->score_tests;
    const bool more = scores && hr_metric_kind(v->metric)->higher;
    const struct hr_pair *pair = hr_family_pair(family, a, b);
    if (pair->state != HR_PAIR_TESTED)
        return pair->state == HR_PAIR_IDENTICAL ? "identical"
               : v->unlike                      ? "not like for like"
                                                : "not tested";
    const bool up = scores && hr_verdict_not_worse(v, a, b);
    const bool down = scores && hr_verdict_not_worse(v, b, a);
    const bool told = hr_family_higher(family, a, b) || hr_family_higher(family, b, a);
    if (told && hr_family_higher(family, a, b) == more)
        return down ? "better, equal within" : "better";
    if (told)
        return up ? "worse, equal within" : "worse";
    if (up && down)
        return "equal within";
    return up ? "no worse within" : down ? "no better within" : "not told";
}

static enum hr_status make(struct hr_verdict *v, const struct hr_run_result *runs, size_t n)
{
    HR_TRY(hr_groups_make(&v->groups, runs, n));
    v->score = calloc(v->groups.n + 1, sizeof *v->score);
    v->twin = calloc(v->groups.n + 1, sizeof *v->twin);
    if (!v->score || !v->twin)
        return hr_fail(HR_E_NOMEM, "no memory to compare %zu strategies", v->groups.n);
    measure(v);
    find_twins(v);
    return test_all(v);
}

enum hr_status hr_verdict_make(struct hr_verdict *v, const struct hr_run_result *runs, size_t n,
                               struct hr_verdict_wish wish)
{
    *v = (struct hr_verdict){.wish = wish};
    const enum hr_status status = make(v, runs, n);
    if (status != HR_OK)
        hr_verdict_free(v);
    return status;
}

void hr_verdict_free(struct hr_verdict *v)
{
    free(v->score);
    free(v->twin);
    hr_family_free(&v->score_tests);
    hr_family_free(&v->cost_tests[HR_COST_SECONDS]);
    hr_family_free(&v->cost_tests[HR_COST_SAMPLES]);
    hr_groups_free(&v->groups);
    *v = (struct hr_verdict){0};
}
