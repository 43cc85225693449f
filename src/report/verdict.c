#include "report/verdict.h"

#include <math.h>
#include <stdlib.h>

#include "stats/holm.h"
#include "stats/welch.h"

bool hr_verdict_tested(const struct hr_verdict *v, size_t g)
{
    return v->score[g].n > 1 && !v->groups.group[g].interrupted && isfinite(v->score[g].mean);
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
    return hr_metric_better(v->metric, v->score[than].mean, v->score[g].mean, 0);
}

static void measure(struct hr_verdict *v)
{
    v->metric = compared(&v->groups);
    v->best = v->groups.n;
    v->least_seeds = v->groups.most;
    v->most_seeds = v->groups.most;
    for (size_t g = 0; g < v->groups.n; g++) {
        v->score[g] = hr_run_group_metric(&v->groups.group[g], v->metric);
        if (!hr_verdict_tested(v, g))
            continue;
        if (v->score[g].n < v->least_seeds)
            v->least_seeds = v->score[g].n;
        if (v->best == v->groups.n || hr_verdict_below(v, v->best, g))
            v->best = g;
    }
}

static enum hr_status test_pairs(struct hr_verdict *v)
{
    const size_t n = v->groups.n;
    size_t pairs = 0;
    struct hr_comparison *pair = calloc(n * n + 1, sizeof *pair);
    if (!pair)
        return hr_fail(HR_E_NOMEM, "no memory to compare %zu strategies", n);
    for (size_t a = 0; a < n; a++)
        for (size_t b = a + 1; b < n; b++)
            if (hr_verdict_tested(v, a) && hr_verdict_tested(v, b))
                pair[pairs++] = (struct hr_comparison){
                    .a = a, .b = b, .p = hr_welch_p(&v->score[a], &v->score[b])};
    hr_holm_adjust(pair, pairs);
    for (size_t i = 0; i < n * n; i++)
        v->p[i] = 1;
    for (size_t i = 0; i < pairs; i++)
        v->p[pair[i].a * n + pair[i].b] = v->p[pair[i].b * n + pair[i].a] = pair[i].p;
    free(pair);
    return HR_OK;
}

double hr_verdict_p(const struct hr_verdict *v, size_t a, size_t b)
{
    return v->p[a * v->groups.n + b];
}

bool hr_verdict_worse_than(const struct hr_verdict *v, size_t g, size_t than)
{
    return hr_verdict_p(v, g, than) < HR_VERDICT_LEVEL && hr_verdict_below(v, g, than);
}

bool hr_verdict_worse(const struct hr_verdict *v, size_t g)
{
    return hr_verdict_tested(v, g) && hr_verdict_worse_than(v, g, v->best);
}

static enum hr_status make(struct hr_verdict *v, const struct hr_run_result *runs, size_t n)
{
    HR_TRY(hr_groups_make(&v->groups, runs, n));
    v->score = calloc(v->groups.n + 1, sizeof *v->score);
    v->p = calloc(v->groups.n * v->groups.n + 1, sizeof *v->p);
    if (!v->score || !v->p)
        return hr_fail(HR_E_NOMEM, "no memory to compare %zu strategies", v->groups.n);
    measure(v);
    return test_pairs(v);
}

enum hr_status hr_verdict_make(struct hr_verdict *v, const struct hr_run_result *runs, size_t n)
{
    *v = (struct hr_verdict){0};
    const enum hr_status status = make(v, runs, n);
    if (status != HR_OK)
        hr_verdict_free(v);
    return status;
}

void hr_verdict_free(struct hr_verdict *v)
{
    free(v->score);
    free(v->p);
    hr_groups_free(&v->groups);
    *v = (struct hr_verdict){0};
}
