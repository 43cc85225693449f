/* How often verdicts claim a difference that is not there, and how often they find one that is.
 *
 * A family is a comparison of five strategies over some seeds, judged by hr_verdict_make as those
 * of `hogring compare` are. One without a difference that has any claim at 5 % is a false claim: of
 * a thousand families at most 64 may be (50 is 5 %, and 14 two deviations). In a family with an
 * effect, the last strategy is worse than the four others, by a size that stands in the table; to
 * be found, it has to be told from all four: in 80 % of the families.
 *
 *   HOGRING_LONG=1   a thousand families of each kind; else 25, with room for chance
 *
 * What varies: a seed is lucky for all strategies alike (which pairing takes away), and each run by
 * itself. Accuracies are counts of right answers, on 10,000 test samples or the 360 of digits.
 * Times are log-normal; a run is looked at now and then, and may end before it reaches its
 * target. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/philox.h"
#include "support/check.h"
#include "support/sample_runs.h"
#include "verdict/verdict.h"

enum { STRATEGIES = 5, SEEDS_MOST = 25, POINTS_MOST = 200 };

static const char *const names[STRATEGIES] = {"ps-sync", "ps-async", "ssp", "hogwild", "gossip"};

struct kind {
    const char *name;
    size_t seeds;
    /* of accuracies */
    size_t test_samples; /* 0: of times */
    double accuracy, lucky_accuracy;
    /* of times to the target, whose median is 1 */
    double lucky_time, time; /* deviations of logarithms: of a seed, of a run */
    double every, budget;    /* looks, and the end; */
    double slower_budget;    /* times the budget: of the strategies before the last */
    double effect;           /* of the last strategy: accuracy that it lacks, or log of its times */
};

static const struct kind nulls[] = {
    {.name = "accuracy, 10,000 samples, 3 seeds",
     .seeds = 3,
     .test_samples = 10000,
     .accuracy = 0.97,
     .lucky_accuracy = 0.003},
    {.name = "accuracy, 10,000 samples, 5 seeds",
     .seeds = 5,
     .test_samples = 10000,
     .accuracy = 0.88,
     .lucky_accuracy = 0.003},
    {.name = "accuracy, 10,000 samples, 10 seeds",
     .seeds = 10,
     .test_samples = 10000,
     .accuracy = 0.97,
     .lucky_accuracy = 0.003},
    {.name = "accuracy, 360 samples, 3 seeds",
     .seeds = 3,
     .test_samples = 360,
     .accuracy = 0.95,
     .lucky_accuracy = 0.01},
    {.name = "accuracy, 360 samples, 5 seeds",
     .seeds = 5,
     .test_samples = 360,
     .accuracy = 0.95,
     .lucky_accuracy = 0.01},
    {.name = "accuracy near 1, 360 samples, 2 seeds",
     .seeds = 2,
     .test_samples = 360,
     .accuracy = 0.998,
     .lucky_accuracy = 0},
    {.name = "accuracy near 1, 360 samples, 3 seeds",
     .seeds = 3,
     .test_samples = 360,
     .accuracy = 0.998,
     .lucky_accuracy = 0},
    {.name = "accuracy near 1, 360 samples, 5 seeds",
     .seeds = 5,
     .test_samples = 360,
     .accuracy = 0.998,
     .lucky_accuracy = 0},
    {.name = "times, 3 seeds",
     .seeds = 3,
     .lucky_time = 0.3,
     .time = 0.2,
     .every = 0.04,
     .budget = 8},
    {.name = "times, 5 seeds",
     .seeds = 5,
     .lucky_time = 0.3,
     .time = 0.2,
     .every = 0.04,
     .budget = 8},
    {.name = "times, looked at rarely, 5 seeds",
     .seeds = 5,
     .lucky_time = 0.1,
     .time = 0.1,
     .every = 0.25,
     .budget = 4},
    {.name = "times, looked at rarely, 10 seeds",
     .seeds = 10,
     .lucky_time = 0.3,
     .time = 0.2,
     .every = 0.4,
     .budget = 4},
    {.name = "times, 10 % not reached, 5 seeds",
     .seeds = 5,
     .lucky_time = 0.3,
     .time = 0.2,
     .every = 0.04,
     .budget = 1.6},
    {.name = "times, half not reached, 10 seeds",
     .seeds = 10,
     .lucky_time = 0.3,
     .time = 0.2,
     .every = 0.04,
     .budget = 1},
    {.name = "times, 80 % not reached, 10 seeds",
     .seeds = 10,
     .lucky_time = 0.3,
     .time = 0.2,
     .every = 0.04,
     .budget = 0.74},
    {.name = "times, 80 % not reached, 25 seeds",
     .seeds = 25,
     .lucky_time = 0.3,
     .time = 0.2,
     .every = 0.04,
     .budget = 0.74},
    {.name = "times, half not reached, 25 seeds",
     .seeds = 25,
     .lucky_time = 0.3,
     .time = 0.2,
     .every = 0.04,
     .budget = 1},
    {.name = "times, other budgets, 5 seeds",
     .seeds = 5,
     .lucky_time = 0.3,
     .time = 0.2,
     .every = 0.04,
     .budget = 1.3,
     .slower_budget = 3},
    {.name = "times, other budgets, 10 seeds",
     .seeds = 10,
     .lucky_time = 0.3,
     .time = 0.2,
     .every = 0.04,
     .budget = 1.3,
     .slower_budget = 3},
};

static const struct kind effects[] = {
    {.name = "accuracy 1.5 points less, 10,000 samples, 5 seeds",
     .seeds = 5,
     .test_samples = 10000,
     .accuracy = 0.97,
     .lucky_accuracy = 0.003,
     .effect = 0.015},
    {.name = "accuracy 4 points less, 360 samples, 10 seeds",
     .seeds = 10,
     .test_samples = 360,
     .accuracy = 0.95,
     .lucky_accuracy = 0.01,
     .effect = 0.04},
    {.name = "1.5 times the time, 10 seeds",
     .seeds = 10,
     .lucky_time = 0.3,
     .time = 0.15,
     .every = 0.04,
     .budget = 8,
     .effect = 0.405},
    {.name = "twice the time, a third not reached, 12 seeds",
     .seeds = 12,
     .lucky_time = 0.3,
     .time = 0.15,
     .every = 0.04,
     .budget = 1.5,
     .effect = 0.693},
};

/* --- numbers */

struct draws {
    uint64_t seed, next;
};

static double uniform(struct draws *d)
{
    return ((double)hr_random_block(d->seed, HR_STREAM_TEST, d->next++, 0).v[0] + 0.5) /
           4294967296.0;
}

static double normal(struct draws *d)
{
    const double radius = sqrt(-2 * log(uniform(d)));
    return radius * cos(2 * M_PI * uniform(d));
}

/* Right answers of n: normal where many are wrong, else the wrong ones are counted. */
static double right_answers(struct draws *d, size_t n, double p)
{
    const double wrong = (double)n * (1 - p);
    size_t count = 0;
    if (wrong > 100)
        return fmin((double)n, round((double)n * p + sqrt(wrong * p) * normal(d)));
    for (size_t i = 0; i < n; i++)
        count += uniform(d) < p;
    return (double)count;
}

/* --- runs */

static struct hr_run_result runs[STRATEGIES * SEEDS_MOST];
static struct hr_curve_point curves[STRATEGIES * SEEDS_MOST][POINTS_MOST];

/* Looked at every so often until its end: when was the target seen to be reached? */
static void look_at(struct hr_run_result *run, struct hr_curve_point *curve,
                    const struct kind *kind, double reached, double budget)
{
    size_t n = 0;
    run->target_seconds = -1;
    for (double at = kind->every; n < POINTS_MOST && at <= budget * (1 + 1e-9); n++) {
        curve[n] = (struct hr_curve_point){.seconds = at, .samples = 1000 * (n + 1)};
        if (run->target_seconds < 0 && at >= reached)
            run->target_seconds = at;
        at += kind->every;
    }
    run->curve = curve;
    run->ncurve = n;
}

static void make_run(size_t i, const struct kind *kind, struct draws *d, double luck)
{
    const size_t s = i % STRATEGIES;
    const double effect = s == STRATEGIES - 1 ? kind->effect : 0;
    runs[i] = sample_run(names[s], 1 + i / STRATEGIES, 0.5);
    snprintf(runs[i].weights_digest, sizeof runs[i].weights_digest, "%zu", i);
    if (kind->test_samples) {
        const double p = fmin(1, kind->accuracy + kind->lucky_accuracy * luck - effect);
        runs[i].test_samples = kind->test_samples;
        runs[i].test_accuracy =
            right_answers(d, kind->test_samples, p) / (double)kind->test_samples;
        return;
    }
    const double budget = kind->slower_budget > 0 && s < STRATEGIES - 1
                              ? kind->budget * kind->slower_budget
                              : kind->budget;
    look_at(&runs[i], curves[i], kind,
            exp(kind->lucky_time * luck + kind->time * normal(d) + effect), budget);
}

static void make_family(const struct kind *kind, struct draws *d)
{
    for (size_t seed = 0; seed < kind->seeds; seed++) {
        const double luck = normal(d);
        for (size_t s = 0; s < STRATEGIES; s++)
            make_run(seed * STRATEGIES + s, kind, d, luck);
    }
}

/* --- judged */

/* Claims, of all pairs, and those that call the last strategy worse. */
struct claims {
    size_t all, last_worse;
};

static struct claims judge(const struct kind *kind)
{
    struct hr_verdict v;
    struct claims claims = {0};
    const struct hr_verdict_request request = {
        .target = {HR_METRIC_ACCURACY, kind->test_samples ? 0 : 0.9}};
    assert_int_equal(hr_verdict_make(&v, runs, kind->seeds * STRATEGIES, request), HR_OK);
    assert_int_equal(v.groups.n, STRATEGIES);
    const struct hr_family *family =
        kind->test_samples ? &v.score_tests : &v.cost_tests[HR_COST_SECONDS];
    for (size_t a = 0; a < STRATEGIES; a++)
        for (size_t b = 0; b < STRATEGIES; b++)
            claims.all += hr_family_higher(family, a, b);
    for (size_t s = 0; s + 1 < STRATEGIES; s++)
        claims.last_worse += kind->test_samples ? hr_family_higher(family, s, STRATEGIES - 1)
                                                : hr_family_higher(family, STRATEGIES - 1, s);
    hr_verdict_free(&v);
    return claims;
}

static size_t families(void)
{
    const char *text = getenv("HOGRING_LONG");
    return text && text[0] ? 1000 : 25;
}

static void families_without_a_difference_have_few_claims(void **state)
{
    (void)state;
    const size_t n = families(), allowed = n >= 1000 ? 64 * n / 1000 : 6; /* 2 and 4 deviations */
    for (size_t k = 0; k < sizeof nulls / sizeof *nulls; k++) {
        struct draws d = {.seed = 1 + k};
        size_t claimed = 0;
        for (size_t f = 0; f < n; f++) {
            make_family(&nulls[k], &d);
            claimed += judge(&nulls[k]).all > 0;
        }
        print_message("%4zu of %zu: %s\n", claimed, n, nulls[k].name);
        assert_in_range(claimed, 0, allowed);
    }
}

static void effects_are_found(void **state)
{
    (void)state;
    const size_t n = families();
    for (size_t k = 0; k < sizeof effects / sizeof *effects; k++) {
        struct draws d = {.seed = 101 + k};
        size_t found = 0, partly = 0;
        for (size_t f = 0; f < n; f++) {
            make_family(&effects[k], &d);
            const struct claims claims = judge(&effects[k]);
            found += claims.last_worse == STRATEGIES - 1;
            partly += claims.last_worse > 0;
        }
        print_message("%4zu of %zu from all, %zu from any: %s\n", found, n, partly,
                      effects[k].name);
        assert_true(found * 10 >= n * (n >= 1000 ? 8 : 7));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(families_without_a_difference_have_few_claims),
        cmocka_unit_test(effects_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
