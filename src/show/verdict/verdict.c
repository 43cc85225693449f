/* What is proved: pairs of runs with the same seed, a family of tests over all pairs of strategies,
 * orders of events; then the verdict on all runs, and whether they are compared like for like. */
#include "verdict/verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/median.h"
#include "report/report.h"
#include "report/human.h"
#include "terminal/output.h"

/* --- pairs: seeds */

static bool has_seed(const struct hr_run_group *group, uint64_t seed)
{
    for (size_t i = 0; i < group->n; i++)
        if (group->run[i]->seed == seed)
            return true;
    return false;
}

/* The first run of run i's seed. */
static size_t first_of_seed(const struct hr_run_group *group, size_t i)
{
    size_t k = 0;
    while (group->run[k]->seed != group->run[i]->seed)
        k++;
    return k;
}

static bool opens_seed(const struct hr_run_group *group, size_t i)
{
    return first_of_seed(group, i) == i;
}

size_t hr_run_group_seeds(const struct hr_run_group *group)
{
    size_t seeds = 0;
    for (size_t i = 0; i < group->n; i++)
        seeds += opens_seed(group, i);
    return seeds;
}

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

/* --- pairs: scores */

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

/* --- pairs: what a target took */

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
static size_t test_pairs(struct hr_family *family, const struct hr_family_request *request,
                         struct hr_comparison *list)
{
    size_t n = 0;
    for (size_t a = 0; a < request->groups; a++)
        for (size_t b = a + 1; b < request->groups; b++) {
            struct hr_pair *pair = at(family, a, b);
            if (request->twin[a] != a || request->twin[b] != b ||
                !request->test(request->arg, a, b, pair))
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
static void adjust_margins(struct hr_family *family, const struct hr_family_request *request,
                           struct hr_comparison *list, size_t n)
{
    size_t tests = 0;
    for (size_t a = 0; a < request->groups; a++)
        for (size_t b = 0; b < request->groups; b++) {
            const struct hr_pair *pair = at(family, a, b);
            if (a == b || pair->state != HR_PAIR_TESTED)
                continue;
            list[tests++] = (struct hr_comparison){
                .a = a,
                .b = b,
                .p = request->higher ? hr_paired_not_below(&pair->test, request->margin)
                                     : hr_paired_not_above(&pair->test, request->margin)};
        }
    hr_holm_adjust_of(list, tests, n);
    for (size_t i = 0; i < tests; i++)
        at(family, list[i].a, list[i].b)->not_worse_p = list[i].p;
}

/* Before twins have copies: each test counts once. False: no pair is of that kind. sd: room for a
 * deviation a pair. */
static bool measure_spread(struct hr_family *family, bool significant, double *sd)
{
    size_t n = 0;
    for (size_t a = 0; a < family->groups; a++)
        for (size_t b = a + 1; b < family->groups; b++) {
            const struct hr_pair *pair = at(family, a, b);
            if (pair->state != HR_PAIR_TESTED || !(pair->test.sd > 0) ||
                (pair->p < HR_VERDICT_LEVEL) != significant)
                continue;
            sd[n++] = pair->test.sd;
            if (!family->least_pairs || pair->test.n < family->least_pairs)
                family->least_pairs = pair->test.n;
        }
    family->spread = n ? hr_median(sd, n) : 0;
    return n > 0;
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

enum hr_status hr_family_make(struct hr_family *family, const struct hr_family_request *request)
{
    const size_t n = request->groups;
    struct hr_comparison *list = calloc(n * n + 1, sizeof *list);
    double *sd = calloc(n * n + 1, sizeof *sd);
    *family = (struct hr_family){.groups = n, .pair = calloc(n * n + 1, sizeof *family->pair)};
    if (!list || !sd || !family->pair) {
        free(list);
        free(sd);
        hr_family_free(family);
        return hr_fail(HR_E_NOMEM, "no memory to compare %zu strategies", n);
    }
    for (size_t i = 0; i < n * n; i++)
        family->pair[i] = (struct hr_pair){.test = {.p = 1}, .p = 1, .not_worse_p = 1};
    family->tests = test_pairs(family, request, list);
    adjust(family, list, family->tests);
    if (request->margin > 0)
        adjust_margins(family, request, list, family->tests);
    if (!measure_spread(family, false, sd))
        measure_spread(family, true, sd);
    copy_to_twins(family, request->twin);
    free(list);
    free(sd);
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
        if (opens_seed(group, i)) {
            count[seeds] = list_scores(group, metric, i, values + n);
            n += count[seeds++];
        }
    orders->score = hr_components_of(values, count, seeds);
    orders->same = all_same(group);
    free(values);
    free(count);
    return seeds > 0 && group->n > seeds;
}

/* --- verdict --- */

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
    const bool losses = hr_losses_alike(&v->groups);
    v->unlike = (!v->request.tuned && hr_alikeness_of(&v->groups).kind == HR_UNLIKE) ||
                (v->metric == HR_METRIC_LOSS && !losses);
    v->unlike_target = v->request.target.metric == HR_METRIC_LOSS && !losses;
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

/* A figure of a verdict that is tested: the score, or what a target took. */
struct tested {
    const struct hr_verdict *verdict;
    bool score;
    enum hr_cost cost;
};

static bool comparable_targets(const struct hr_verdict *v, size_t a, size_t b)
{
    return !v->unlike_target ||
           !strcmp(v->groups.group[a].run[0]->loss, v->groups.group[b].run[0]->loss);
}

static bool test_pair(const void *arg, size_t a, size_t b, struct hr_pair *pair)
{
    const struct tested *tested = arg;
    const struct hr_verdict *v = tested->verdict;
    const struct hr_run_group *x = &v->groups.group[a], *y = &v->groups.group[b];
    if (v->unlike || !hr_verdict_tested(v, a) || !hr_verdict_tested(v, b) ||
        (!tested->score && !comparable_targets(v, a, b)))
        return false;
    if (tested->score) {
        pair->test = hr_pair_scores(x, y, v->metric);
    } else {
        const struct hr_paired_times times = hr_pair_costs(x, y, tested->cost);
        pair->test = times.test;
        pair->exact = times.exact;
        pair->unknown = times.unknown;
    }
    return pair->test.n > 1;
}

/* Equal weights took equally many samples, but not equally long. */
static enum hr_status test_all(struct hr_verdict *v)
{
    size_t *alone = calloc(v->groups.n + 1, sizeof *alone);
    struct tested tested = {v, true, HR_COST_SAMPLES};
    struct hr_family_request request = {.groups = v->groups.n,
                                        .twin = v->twin,
                                        .test = test_pair,
                                        .arg = &tested,
                                        .margin = hr_verdict_margin(v),
                                        .higher = hr_metric_kind(v->metric)->higher};
    if (!alone)
        return hr_fail(HR_E_NOMEM, "no memory to compare %zu strategies", v->groups.n);
    for (size_t g = 0; g < v->groups.n; g++)
        alone[g] = g;
    enum hr_status status = hr_family_make(&v->score_tests, &request);
    tested.score = false;
    request.margin = 0;
    if (status == HR_OK && v->request.target.value > 0)
        status = hr_family_make(&v->cost_tests[HR_COST_SAMPLES], &request);
    tested.cost = HR_COST_SECONDS;
    request.twin = alone;
    if (status == HR_OK && v->request.target.value > 0)
        status = hr_family_make(&v->cost_tests[HR_COST_SECONDS], &request);
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

double hr_verdict_margin(const struct hr_verdict *v)
{
    return v->request.margin / hr_metric_kind(v->metric)->scale;
}

bool hr_verdict_not_worse(const struct hr_verdict *v, size_t a, size_t b)
{
    const struct hr_pair *pair = hr_family_pair(&v->score_tests, a, b);
    return pair->state == HR_PAIR_IDENTICAL ||
           (v->request.margin > 0 && pair->not_worse_p < HR_VERDICT_LEVEL);
}

const char *hr_verdict_word(const struct hr_verdict *v, const struct hr_family *family, size_t a,
                            size_t b)
{
    const bool scores = family == &v->score_tests;
    const bool more = scores && hr_metric_kind(v->metric)->higher;
    const struct hr_pair *pair = hr_family_pair(family, a, b);
    if (pair->state != HR_PAIR_TESTED)
        return pair->state == HR_PAIR_IDENTICAL                         ? "identical"
               : v->unlike || (!scores && !comparable_targets(v, a, b)) ? "not like for like"
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
                               struct hr_verdict_request request)
{
    *v = (struct hr_verdict){.request = request};
    if (request.at && request.at[0])
        snprintf(v->at, sizeof v->at, ", at %s", request.at);
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

/* --- like for like --- */

/* Are strategies compared like for like? One rule for all that claims something: terminal, JSON,
 * page, picture, search.
 *
 * A training rate is right for updates of some size. Where strategies make updates of other sizes
 * at one rate (a synchronous one an update of all workers' samples, an asynchronous one an update
 * of each worker's), their scores are those of the rate as much as of the strategies. Counted is
 * what runs did: their updates, and samples per update. The size of an update as a share of the
 * global batch tells what the strategy did from what the user listed (batch sizes, workers). */

static const double alike_within = 1.1; /* more than 10 % is another training */

struct made {
    double updates, size; /* means over its runs; size: samples per update, 0: it made none */
    double parts;         /* of a global batch: updates made of one */
    double dropped;       /* share of the samples, of backup-workers */
};

/* What backup-workers drop was handed out: that its updates are smaller is what it is. */
static struct made made_by(const struct hr_run_group *group)
{
    struct made made = {.updates = hr_run_group_spread(group, hr_measure_updates).mean};
    double updates = 0, samples = 0, dropped = 0;
    for (size_t i = 0; i < group->n; i++) {
        updates += (double)group->run[i]->updates;
        samples += (double)group->run[i]->samples;
        dropped += (double)group->run[i]->dropped_samples;
    }
    if (updates > 0 && samples + dropped > 0) {
        made.size = (samples + dropped) / updates;
        made.dropped = dropped / (samples + dropped);
        made.parts = fmax(1, round((double)group->run[0]->global_batch / made.size));
        made.parts = fmin(made.parts, fmax(1, (double)group->run[0]->workers));
    }
    return made;
}

static bool differ(double a, double b)
{
    return fmax(a, b) > alike_within * fmin(a, b);
}

enum hr_alike hr_alike_pair(const struct hr_run_group *a, const struct hr_run_group *b)
{
    const struct made x = made_by(a), y = made_by(b);
    const bool cut =
        a->interrupted || b->interrupted || hr_run_group_lost(a) != hr_run_group_lost(b);
    if (!(x.size > 0 && y.size > 0))
        return HR_ALIKE;
    if (!differ(x.size, y.size) && (cut || !differ(x.updates, y.updates)))
        return HR_ALIKE; /* who was cut short, or lost somebody, is named elsewhere */
    const struct hr_run_result *of_a = a->run[0], *of_b = b->run[0];
    const bool given_alike =
        of_a->global_batch == of_b->global_batch && of_a->workers == of_b->workers;
    const bool by_strategy = given_alike ? differ(x.size, y.size) : differ(x.parts, y.parts);
    return by_strategy && strcmp(of_a->strategy, of_b->strategy) != 0 ? HR_UNLIKE
                                                                      : HR_UNLIKE_AS_ASKED;
}

/* Of pairs that are as unlike, the one whose updates differ most in size is named. */
static double distance(const struct hr_groups *groups, size_t a, size_t b)
{
    const struct made x = made_by(&groups->group[a]), y = made_by(&groups->group[b]);
    return fabs(log(x.size / y.size)) + 1e-3 * fabs(log(x.updates / y.updates));
}

bool hr_losses_alike(const struct hr_groups *groups)
{
    for (size_t g = 1; g < groups->n; g++)
        if (strcmp(groups->group[g].run[0]->loss, groups->group[0].run[0]->loss) != 0)
            return false;
    return true;
}

struct hr_alikeness hr_alikeness_of(const struct hr_groups *groups)
{
    struct hr_alikeness found = {.kind = HR_ALIKE};
    double most = -1;
    for (size_t a = 0; a < groups->n; a++)
        for (size_t b = a + 1; b < groups->n; b++) {
            const enum hr_alike kind = hr_alike_pair(&groups->group[a], &groups->group[b]);
            if (kind < found.kind || kind == HR_ALIKE)
                continue;
            most = kind > found.kind ? -1 : most;
            if (distance(groups, a, b) <= most)
                continue;
            const bool larger = made_by(&groups->group[a]).size >= made_by(&groups->group[b]).size;
            found = (struct hr_alikeness){kind, larger ? a : b, larger ? b : a};
            most = distance(groups, a, b);
        }
    return found;
}

/* An epoch's last batch may be smaller: said is the size of all others. */
static double whole_size(const struct hr_run_group *group)
{
    const struct made made = made_by(group);
    const double whole = (double)group->run[0]->global_batch / made.parts;
    return whole > made.size && !differ(whole, made.size) ? whole : made.size;
}

static void say_sizes(FILE *out, const struct hr_groups *groups, const struct hr_alikeness *found)
{
    const struct hr_run_group *large = &groups->group[found->large];
    const struct hr_run_group *small = &groups->group[found->small];
    fprintf(out, "%.0f updates of %.4g samples against %.0f of %.4g", made_by(large).updates,
            whole_size(large), made_by(small).updates, whole_size(small));
}

void hr_say_command(FILE *out, const char *what, const struct hr_proposal *command, size_t width)
{
    char time[HR_HUMAN_MAX];
    if (!command->whole || !command->whole[0])
        return;
    const int used = fprintf(out, "%s%s (about %s):", width ? "\n" : " ", what,
                             hr_human_about(time, command->seconds));
    size_t column = (size_t)used; /* with the blank, and without the newline */
    const size_t length = strlen(command->whole),
                 rest = 12; /* of a line, of which a word had no room */
    if (width && command->change && length + rest > 2 * width) {
        fprintf(out, " the same command %s", command->change);
        return;
    }
    const bool own_line = width && column + length > width;
    fputs(own_line ? "\n  " : " ", out);
    column = own_line ? 2 : column;
    for (const char *word = command->whole; *word;) {
        bool quoted = false, valued = false;
        size_t n = 0;
        const bool option = word[0] == '-'; /* its value stays with it */
        for (; word[n] && (quoted || word[n] != ' ' || (option && !valued && word[n + 1] != '-'));
             n++)
            if (!quoted && word[n] == ' ')
                valued = true;
            else if (word[n] == '\\' && !quoted && word[n + 1])
                n++;
            else
                quoted ^= word[n] == '\'';
        if (width && column + n + (word[n] ? 3 : 1) > width && column > 4) { /* " \\" */
            fputs("\\\n    ", out);
            column = 4;
        }
        fprintf(out, "%.*s%s", (int)n, word, word[n] ? " " : "");
        column += n + 1;
        word += n + (word[n] == ' ');
    }
}

static void say_dropped(FILE *out, const struct hr_groups *groups)
{
    for (size_t g = 0; g < groups->n && groups->n > 1; g++) {
        const double dropped = made_by(&groups->group[g]).dropped;
        if (dropped > 0)
            fprintf(out,
                    "%s%s drops its slowest gradients, as configured: %.3g %% of the samples.\n",
                    hr_yields(out, HR_NOTICE), groups->group[g].name, 100 * dropped);
    }
}

/* "Losses are of unlike functions (cross-entropy, mse), and not compared." */
static void say_losses(FILE *out, const struct hr_groups *groups)
{
    const char *before = "Losses are of unlike functions (";
    if (hr_losses_alike(groups))
        return;
    for (size_t g = 0; g < groups->n; g++) {
        size_t first = 0;
        while (strcmp(groups->group[first].run[0]->loss, groups->group[g].run[0]->loss) != 0)
            first++;
        if (first < g)
            continue;
        fprintf(out, "%s%s", before, groups->group[g].run[0]->loss);
        before = ", ";
    }
    fputs("), and not compared.\n", out);
}

void hr_alike_print(FILE *out, const struct hr_groups *groups,
                    const struct hr_verdict_request *request, size_t width)
{
    const struct hr_alikeness found = hr_alikeness_of(groups);
    const char *at = request->at ? request->at : "";
    if (found.kind != HR_ALIKE && !request->tuned) {
        fprintf(out, "%s%s:%s ", hr_style(out, HR_BOLD),
                found.kind == HR_UNLIKE ? "Not a fair comparison" : "The experiment",
                hr_style(out, HR_PLAIN));
        say_sizes(out, groups, &found);
        if (found.kind == HR_UNLIKE_AS_ASKED)
            fprintf(out, ", as %s", request->length ? request->length : "listed");
        fprintf(out, "%s%s", !at[0] ? "" : found.kind == HR_UNLIKE ? ", all at " : ", at ", at);
        fputs(found.kind == HR_UNLIKE ? ", so the scores do not show which strategy is better."
                                      : ".",
              out);
        if (found.kind == HR_UNLIKE)
            hr_say_command(out, "For a fair comparison", &request->fair, width);
        fputc('\n', out);
    }
    say_losses(out, groups);
    say_dropped(out, groups);
}
