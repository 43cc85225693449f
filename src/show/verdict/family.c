#include "verdict/family.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- pairing --- */

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

/* --- family --- */

enum { SEEDS_MOST = 10000 };

static struct hr_pair *at(struct hr_family *family, size_t a, size_t b)
{
    return &family->pair[a * family->groups + b];
}

/* b against a, of what is known of a against b. */
static struct hr_pair mirrored(const struct hr_pair *pair)
{
    struct hr_pair m = *pair;
    const struct hr_paired *t = &pair->test;
    m.test.difference = -t->difference;
    m.test.effect = -t->effect;
    m.test.interval = (struct hr_interval){-t->interval.high, -t->interval.low};
    m.test.of_effect = (struct hr_interval){-t->of_effect.high, -t->of_effect.low};
    return m;
}

/* Pairs of groups that are the first of their kind. */
static size_t test_pairs(struct hr_family *family, const struct hr_family_wish *wish,
                         struct hr_comparison *list)
{
    size_t n = 0;
    for (size_t a = 0; a < wish->groups; a++)
        for (size_t b = a + 1; b < wish->groups; b++) {
            struct hr_pair *pair = at(family, a, b);
            if (wish->twin[a] != a || wish->twin[b] != b || !wish->test(wish->arg, a, b, pair))
                continue;
            pair->state = HR_PAIR_TESTED;
            *at(family, b, a) = mirrored(pair);
            list[n++] = (struct hr_comparison){.a = a, .b = b, .p = pair->test.p};
        }
    return n;
}

static void adjust(struct hr_family *family, struct hr_comparison *list, size_t n)
{
    hr_holm_adjust(list, n);
    for (size_t i = 0; i < n; i++)
        at(family, list[i].a, list[i].b)->p = at(family, list[i].b, list[i].a)->p = list[i].p;
}

/* In both directions, 2n tests of which n can be wrong. */
static void adjust_margins(struct hr_family *family, const struct hr_family_wish *wish,
                           struct hr_comparison *list, size_t n)
{
    size_t tests = 0;
    for (size_t a = 0; a < wish->groups; a++)
        for (size_t b = 0; b < wish->groups; b++) {
            const struct hr_pair *pair = at(family, a, b);
            if (a == b || pair->state != HR_PAIR_TESTED)
                continue;
            list[tests++] = (struct hr_comparison){
                .a = a,
                .b = b,
                .p = wish->higher ? hr_paired_not_below(&pair->test, wish->margin)
                                  : hr_paired_not_above(&pair->test, wish->margin)};
        }
    hr_holm_adjust_of(list, tests, n);
    for (size_t i = 0; i < tests; i++)
        at(family, list[i].a, list[i].b)->not_worse_p = list[i].p;
}

/* Before twins have copies: each test counts once. */
static void measure_spread(struct hr_family *family)
{
    double squares = 0, n = 0;
    for (size_t i = 0; i < family->groups * family->groups; i++) {
        const struct hr_paired *test = &family->pair[i].test;
        if (family->pair[i].state != HR_PAIR_TESTED || !(test->sd > 0))
            continue;
        squares += test->sd * test->sd;
        n++;
        if (!family->least_pairs || test->n < family->least_pairs)
            family->least_pairs = test->n;
    }
    family->spread = n > 0 ? sqrt(squares / n) : 0;
}

/* What holds for the first of its kind holds for all. */
static void copy_to_twins(struct hr_family *family, const size_t *twin)
{
    for (size_t a = 0; a < family->groups; a++)
        for (size_t b = 0; b < family->groups; b++)
            if (a != b && twin[a] == twin[b])
                *at(family, a, b) =
                    (struct hr_pair){.state = HR_PAIR_IDENTICAL, .test = {.p = 1}, .p = 1};
            else if (a != b)
                *at(family, a, b) = *at(family, twin[a], twin[b]);
}

enum hr_status hr_family_make(struct hr_family *family, const struct hr_family_wish *wish)
{
    const size_t n = wish->groups;
    struct hr_comparison *list = calloc(n * n + 1, sizeof *list);
    *family = (struct hr_family){.groups = n, .pair = calloc(n * n + 1, sizeof *family->pair)};
    if (!list || !family->pair) {
        free(list);
        hr_family_free(family);
        return hr_fail(HR_E_NOMEM, "no memory to compare %zu strategies", n);
    }
    for (size_t i = 0; i < n * n; i++)
        family->pair[i] = (struct hr_pair){.test = {.p = 1}, .p = 1, .not_worse_p = 1};
    family->tests = test_pairs(family, wish, list);
    adjust(family, list, family->tests);
    if (wish->margin > 0)
        adjust_margins(family, wish, list, family->tests);
    measure_spread(family);
    copy_to_twins(family, wish->twin);
    free(list);
    return HR_OK;
}

void hr_family_free(struct hr_family *family)
{
    free(family->pair);
    *family = (struct hr_family){0};
}

bool hr_family_higher(const struct hr_family *family, size_t a, size_t b)
{
    const struct hr_pair *pair = hr_family_pair(family, a, b);
    return a != b && pair->state == HR_PAIR_TESTED && pair->p < HR_VERDICT_LEVEL &&
           pair->test.difference > 0;
}

struct hr_family_power hr_family_power(const struct hr_family *family, double aim)
{
    struct hr_family_power power = {.spread = family->spread, .pairs = family->least_pairs};
    if (power.pairs == 0)
        return power;
    const double level = HR_VERDICT_LEVEL / (double)family->tests;
    power.difference = power.spread * hr_power_difference(power.pairs, level, HR_POWER_WANTED);
    power.aim = aim > 0 ? aim : power.difference / 2;
    power.more = hr_power_pairs(power.aim / power.spread, level, HR_POWER_WANTED, SEEDS_MOST);
    return power;
}

/* --- orders --- */

/* Scores, seed by seed, in the order in which seeds come first. */

/* The first run of run i's seed. */
static size_t first_of_seed(const struct hr_run_group *group, size_t i)
{
    size_t k = 0;
    while (group->run[k]->seed != group->run[i]->seed)
        k++;
    return k;
}

/* The finite scores of the seed that run `first` opens. */
static size_t list_scores(const struct hr_run_group *group, enum hr_metric metric, size_t first,
                          double *values)
{
    size_t n = 0;
    for (size_t i = first; i < group->n; i++) {
        const double score = hr_metric_of_test(metric, group->run[i]);
        if (group->run[i]->seed == group->run[first]->seed && isfinite(score))
            values[n++] = score;
    }
    return n;
}

static bool all_same(const struct hr_run_group *group)
{
    bool same = true;
    for (size_t i = 0; i < group->n; i++)
        same &= group->run[i]->weights_digest[0] &&
                !strcmp(group->run[i]->weights_digest,
                        group->run[first_of_seed(group, i)]->weights_digest);
    return same;
}

bool hr_run_group_orders(const struct hr_run_group *group, enum hr_metric metric,
                         struct hr_orders *orders)
{
    double *values = calloc(group->n + 1, sizeof *values);
    size_t *count = calloc(group->n + 1, sizeof *count);
    size_t n = 0, seeds = 0;
    for (size_t i = 0; values && count && i < group->n; i++)
        if (first_of_seed(group, i) == i) {
            count[seeds] = list_scores(group, metric, i, values + n);
            n += count[seeds++];
        }
    orders->score = hr_components_of(values, count, seeds);
    orders->same = all_same(group);
    free(values);
    free(count);
    return seeds > 0 && group->n > seeds;
}
