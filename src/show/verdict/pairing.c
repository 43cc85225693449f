#include "verdict/pairing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- seeds */

static bool has_seed(const struct hr_run_group *group, uint64_t seed)
{
    for (size_t i = 0; i < group->n; i++)
        if (group->run[i]->seed == seed)
            return true;
    return false;
}

/* Is run i the first of its seed? */
static bool opens_seed(const struct hr_run_group *group, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (group->run[k]->seed == group->run[i]->seed)
            return false;
    return true;
}

size_t hr_run_group_seeds(const struct hr_run_group *group)
{
    size_t seeds = 0;
    for (size_t i = 0; i < group->n; i++)
        seeds += opens_seed(group, i);
    return seeds;
}

/* --- identical */

/* Have all runs of that seed these weights? */
static bool all_have(const struct hr_run_group *group, uint64_t seed, const char *digest)
{
    for (size_t i = 0; i < group->n; i++)
        if (group->run[i]->seed == seed && strcmp(group->run[i]->weights_digest, digest) != 0)
            return false;
    return has_seed(group, seed) && digest[0];
}

bool hr_groups_identical(const struct hr_run_group *a, const struct hr_run_group *b)
{
    for (size_t i = 0; i < a->n; i++)
        if (!all_have(a, a->run[i]->seed, a->run[i]->weights_digest) ||
            !all_have(b, a->run[i]->seed, a->run[i]->weights_digest))
            return false;
    for (size_t i = 0; i < b->n; i++)
        if (!has_seed(a, b->run[i]->seed))
            return false;
    return a->n > 0;
}

/* --- scores */

static double seed_mean(const struct hr_run_group *group, uint64_t seed, enum hr_metric metric)
{
    double sum = 0, n = 0;
    for (size_t i = 0; i < group->n; i++)
        if (group->run[i]->seed == seed) {
            sum += hr_metric_of_test(metric, group->run[i]);
            n++;
        }
    return sum / n; /* NaN: it has no such run */
}

/* A count of test samples; a mean over several runs goes in smaller steps than this. */
static double step_of(const struct hr_run_group *group, enum hr_metric metric)
{
    const size_t samples = group->run[0]->test_samples;
    return metric == HR_METRIC_ACCURACY && samples ? 1 / (double)samples : 0;
}

struct hr_paired hr_pair_scores(const struct hr_run_group *a, const struct hr_run_group *b,
                                enum hr_metric metric)
{
    double *x = calloc(2 * a->n + 1, sizeof *x), *y = x + a->n;
    size_t n = 0;
    for (size_t i = 0; x && i < a->n; i++) {
        if (!opens_seed(a, i))
            continue;
        x[n] = seed_mean(a, a->run[i]->seed, metric);
        y[n] = seed_mean(b, a->run[i]->seed, metric);
        n += isfinite(x[n]) && isfinite(y[n]);
    }
    const double step = fmax(step_of(a, metric), step_of(b, metric));
    const struct hr_paired paired = hr_paired_test(x, y, n, step);
    free(x);
    return paired;
}

/* --- what a target took */

static double cost_at(const struct hr_curve_point *point, enum hr_cost cost)
{
    return cost == HR_COST_SECONDS ? point->seconds : (double)point->samples;
}

/* The evaluation at which the target was reached; ncurve: none. */
static size_t point_of_target(const struct hr_run_result *run)
{
    size_t i = 0;
    if (run->target_seconds < 0)
        return run->ncurve;
    while (i < run->ncurve && run->curve[i].seconds < run->target_seconds)
        i++;
    return i;
}

double hr_run_target_cost(const struct hr_run_result *run, enum hr_cost cost)
{
    const size_t i = point_of_target(run);
    if (cost == HR_COST_SECONDS)
        return run->target_seconds;
    return i < run->ncurve ? cost_at(&run->curve[i], cost) : -1;
}

static struct hr_reach reach_of(const struct hr_run_result *run, enum hr_cost cost)
{
    const size_t i = point_of_target(run);
    struct hr_reach reach = {.reached = i < run->ncurve};
    if (run->ncurve == 0)
        return reach;
    reach.first = cost_at(&run->curve[0], cost);
    reach.budget = cost_at(&run->curve[run->ncurve - 1], cost);
    if (reach.reached) {
        reach.at = cost_at(&run->curve[i], cost);
        reach.before = i ? cost_at(&run->curve[i - 1], cost) : 0;
    }
    return reach;
}

/* The runs of a group whose seed the other has; pairs are numbered by the first run of a's that has
 * the seed. */
static size_t list_reaches(const struct hr_run_group *group, const struct hr_run_group *other,
                           const struct hr_run_group *numbers, enum hr_cost cost,
                           struct hr_reach *list, size_t *pairs)
{
    size_t n = 0;
    *pairs = 0;
    for (size_t k = 0; k < numbers->n; k++) {
        const uint64_t seed = numbers->run[k]->seed;
        if (!opens_seed(numbers, k) || !has_seed(group, seed) || !has_seed(other, seed))
            continue;
        for (size_t i = 0; i < group->n; i++)
            if (group->run[i]->seed == seed) {
                list[n] = reach_of(group->run[i], cost);
                list[n++].pair = *pairs;
            }
        ++*pairs;
    }
    return n;
}

struct hr_paired_times hr_pair_costs(const struct hr_run_group *a, const struct hr_run_group *b,
                                     enum hr_cost cost)
{
    struct hr_paired_times times = {.test = {.p = 1, .difference = NAN}};
    struct hr_reach *x = calloc(a->n + b->n + 1, sizeof *x), *y = x + a->n;
    size_t pairs;
    if (!x)
        return times;
    const size_t na = list_reaches(a, b, a, cost, x, &pairs);
    const size_t nb = list_reaches(b, a, a, cost, y, &pairs);
    times = hr_paired_times_test(x, na, y, nb, pairs);
    free(x);
    return times;
}
