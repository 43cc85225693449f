/* All pairs of a figure: Holm, identical ones, margins; runs in pairs by their seeds. */
#include <math.h>

#include "support/check.h"
#include "support/sample_runs.h"
#include "verdict/verdict.h"

/* Differences of four groups, of five pairs each: mean[a] - mean[b], with the deviation 1. */
static const double means[] = {0, 0, 3, 1};

static bool test(const void *arg, size_t a, size_t b, struct hr_pair *pair)
{
    double x[5], y[5];
    (void)arg;
    for (size_t i = 0; i < 5; i++) {
        x[i] = means[a] + sqrt(0.4) * ((double)i - 2);
        y[i] = means[b];
    }
    pair->test = hr_paired_test(x, y, 5, 0);
    return true;
}

static void holm_counts_identical_groups_once(void **state)
{
    (void)state;
    static const size_t alone[] = {0, 1, 2, 3}, twins[] = {0, 0, 2, 3};
    struct hr_family four, three;
    const struct hr_family_request all = {.groups = 4, .twin = alone, .test = test};
    const struct hr_family_request fewer = {.groups = 4, .twin = twins, .test = test};
    assert_int_equal(hr_family_make(&four, &all), HR_OK);
    assert_int_equal(hr_family_make(&three, &fewer), HR_OK);
    assert_int_equal(four.tests, 6);
    assert_int_equal(three.tests, 3);
    CHECK_NEAR(hr_family_pair(&four, 2, 0)->p, 6 * hr_family_pair(&four, 0, 2)->test.p, 1e-12, 0);
    CHECK_NEAR(hr_family_pair(&three, 0, 2)->p, 3 * hr_family_pair(&three, 0, 2)->test.p, 1e-12, 0);
    assert_int_equal(hr_family_pair(&three, 0, 1)->state, HR_PAIR_IDENTICAL);
    assert_true(hr_family_higher(&three, 2, 1) && !hr_family_higher(&three, 1, 2));
    CHECK_NEAR(hr_family_pair(&three, 1, 2)->test.difference, -3, 1e-12, 0);
    CHECK_NEAR(hr_family_pair(&three, 1, 2)->test.interval.low,
               -hr_family_pair(&three, 2, 1)->test.interval.high, 1e-12, 0);
    hr_family_free(&four);
    hr_family_free(&three);
}

/* 2n one-sided tests, of which n at most can be wrong. */
static void margins_are_corrected_for_as_many_tests_as_pairs(void **state)
{
    (void)state;
    static const size_t alone[] = {0, 1, 2, 3};
    struct hr_family family;
    const struct hr_family_request request = {
        .groups = 4, .twin = alone, .test = test, .margin = 2, .higher = true};
    assert_int_equal(hr_family_make(&family, &request), HR_OK);
    const struct hr_pair *best = hr_family_pair(&family, 2, 0);
    CHECK_NEAR(best->not_worse_p, 6 * hr_paired_not_below(&best->test, 2), 1e-12, 0);
    assert_true(hr_family_pair(&family, 0, 2)->not_worse_p > 0.5);
    hr_family_free(&family);
}

static void power_is_of_the_spread_and_all_pairs(void **state)
{
    (void)state;
    static const size_t alone[] = {0, 1, 2, 3};
    struct hr_family family;
    const struct hr_family_request request = {.groups = 2, .twin = alone, .test = test};
    assert_int_equal(hr_family_make(&family, &request), HR_OK);
    const struct hr_family_power power = hr_family_power(&family, 0);
    CHECK_NEAR(power.spread, 1, 1e-12, 0);
    CHECK_NEAR(power.difference, 1.6819969659555558, 1e-6, 0); /* test_student.c: of 5 pairs */
    assert_int_equal(power.pairs, 5);
    assert_int_equal(hr_family_power(&family, 0.5).more, 34);
    hr_family_free(&family);
}

/* Means and deviations of the last group of four; those of the others are 0 and 1. */
struct last {
    double mean, deviation;
};

static bool test_last(const void *arg, size_t a, size_t b, struct hr_pair *pair)
{
    static const double shape[4][4] = {{-1, 0, 1, 0}, {0, 1, 0, -1}, {2, -1, -1, 0}, {0, 0, -1, 1}};
    const struct last *last = arg;
    double x[2][4];
    for (size_t i = 0; i < 4; i++)
        for (size_t side = 0; side < 2; side++) {
            const size_t g = side ? b : a;
            x[side][i] = (g == 3 ? last->mean : 0) + shape[g][i] * (g == 3 ? last->deviation : 1);
        }
    pair->test = hr_paired_test(x[0], x[1], 4, 0);
    return true;
}

static struct hr_family_power power_beside(struct last last, const size_t twin[4])
{
    struct hr_family family;
    const struct hr_family_request request = {
        .groups = 4, .twin = twin, .test = test_last, .arg = &last};
    assert_int_equal(hr_family_make(&family, &request), HR_OK);
    const struct hr_family_power power = hr_family_power(&family, 1);
    hr_family_free(&family);
    return power;
}

/* One that is far below all others, and wide, is told from them: it says nothing of how finely
 * they are told apart. */
static void an_entry_that_learned_nothing_does_not_spoil_the_power(void **state)
{
    (void)state;
    static const size_t alone[] = {0, 1, 2, 3};
    const struct hr_family_power good = power_beside((struct last){0, 1}, alone),
                                 bad = power_beside((struct last){-1000, 20}, alone),
                                 wide = power_beside((struct last){0, 20}, alone);
    CHECK_NEAR(bad.spread, sqrt(10 / 3.0), 1e-12, 0); /* the middle of 4, 10 and 14, of 3 */
    assert_true(bad.more <= 2 * good.more);
    assert_true(wide.spread > 4 * good.spread); /* half of the pairs are: none of them is told */
}

static void a_spread_counts_each_test_once(void **state)
{
    (void)state;
    static const size_t twins[] = {0, 1, 2, 2}, more[] = {0, 1, 1, 1};
    CHECK_NEAR(power_beside((struct last){0, 1}, more).spread, sqrt(4 / 3.0), 1e-12, 0);
    CHECK_NEAR(power_beside((struct last){0, 1}, twins).spread, sqrt(10 / 3.0), 1e-12, 0);
}

static void seeds_that_both_have_are_paired(void **state)
{
    (void)state;
    struct hr_run_result runs[] = {sample_run("ssp", 1, 0.5),     sample_run("ssp", 2, 0.6),
                                   sample_run("ssp", 3, 0.7),     sample_run("hogwild", 3, 0.6),
                                   sample_run("hogwild", 9, 0.1), sample_run("hogwild", 2, 0.4)};
    struct hr_groups groups;
    assert_int_equal(hr_groups_make(&groups, runs, 6), HR_OK);
    const struct hr_paired paired =
        hr_pair_scores(&groups.group[0], &groups.group[1], HR_METRIC_ACCURACY);
    assert_int_equal(paired.n, 2);
    CHECK_NEAR(paired.difference, 0.15, 1e-12, 0);
    assert_int_equal(hr_run_group_seeds(&groups.group[0]), 3);
    hr_groups_free(&groups);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holm_counts_identical_groups_once),
        cmocka_unit_test(margins_are_corrected_for_as_many_tests_as_pairs),
        cmocka_unit_test(power_is_of_the_spread_and_all_pairs),
        cmocka_unit_test(an_entry_that_learned_nothing_does_not_spoil_the_power),
        cmocka_unit_test(a_spread_counts_each_test_once),
        cmocka_unit_test(seeds_that_both_have_are_paired),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
