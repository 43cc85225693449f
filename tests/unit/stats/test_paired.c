/* Paired tests against scipy 1.17.1 and statsmodels 0.15.0. */
#include <math.h>

#include "stats/tests.h"
#include "support/check.h"

static const double a[] = {96.1, 95.4, 96.9, 95.8, 96.6}, b[] = {95.2, 95.1, 95.9, 95.9, 95.7};

static void paired_test_is_scipys(void **state)
{
    (void)state;
    const struct hr_paired x = hr_paired_test(a, b, 5, 0);
    CHECK_NEAR(x.difference, 0.6, 1e-12, 0);
    CHECK_NEAR(x.sd, 0.479583152331, 1e-10, 0);
    CHECK_NEAR(x.p, 0.0489354009237, 1e-9, 0); /* scipy.stats.ttest_rel(a, b), and its interval */
    CHECK_NEAR(x.interval.low, 0.004518865605186773, 0, 1e-10);
    CHECK_NEAR(x.interval.high, 1.1954811343948077, 0, 1e-10);
    const struct hr_paired y = hr_paired_test(b, a, 5, 0);
    CHECK_NEAR(y.p, x.p, 1e-12, 0);
    CHECK_NEAR(y.interval.low, -x.interval.high, 1e-12, 0);
}

static void effect_and_its_interval_are_scipys(void **state)
{
    (void)state;
    const struct hr_paired x = hr_paired_test(a, b, 5, 0);
    /* d / sd, and brentq of scipy.stats.nct.cdf(t, 4, x) over sqrt(5), all times the same factor */
    const double hedges = tgamma(2) / (sqrt(2) * tgamma(1.5));
    CHECK_NEAR(x.effect, 0.998222590086, 1e-9, 0);
    CHECK_NEAR(x.of_effect.low, hedges * 0.00516993586526, 0, 1e-7);
    CHECK_NEAR(x.of_effect.high, hedges * 2.42642351456, 0, 1e-7);
    assert_true(isnan(hr_paired_test(a, b, 2, 0).effect));
}

static void one_sided_tests_are_scipys(void **state)
{
    (void)state;
    const struct hr_paired x = hr_paired_test(a, b, 5, 0);
    /* scipy.stats.ttest_1samp(a - b, -m, alternative='greater'), (m, 'less') */
    CHECK_NEAR(hr_paired_not_below(&x, 0.5), 0.00342215633746, 1e-9, 0);
    CHECK_NEAR(hr_paired_not_above(&x, 0.5), 0.667352977097, 1e-9, 0);
    CHECK_NEAR(hr_paired_not_above(&x, 1.5), 0.00686848027025, 1e-9, 0);
    /* statsmodels.stats.weightstats.ttost_paired(a, b, -1.5, 1.5) is the larger of the two */
    CHECK_NEAR(fmax(hr_paired_not_below(&x, 1.5), hr_paired_not_above(&x, 1.5)), 0.00686848027025,
               1e-9, 0);
}

static void equal_differences_vary_by_half_a_step(void **state)
{
    (void)state;
    const double high[] = {3, 4, 5}, low[] = {2, 3, 4};
    const struct hr_paired none = hr_paired_test(high, low, 3, 0);
    assert_true(none.p == 1 && none.difference == 1 && isnan(none.sd));
    assert_true(isinf(none.interval.low) && isinf(none.interval.high));
    assert_true(hr_paired_not_below(&none, 10) == 1 && hr_paired_not_above(&none, 10) == 1);
    const struct hr_paired stepped = hr_paired_test(high, low, 3, 1);
    assert_true(stepped.sd == 0.5); /* t = 2 sqrt(3): scipy.stats.t.sf(2 * 3**.5, 2) * 2 */
    CHECK_NEAR(stepped.p, 0.07417990022744853, 1e-9, 0);
    assert_true(hr_paired_test(high, high, 3, 1).p == 1);
    CHECK_NEAR(hr_paired_test(a, b, 5, 0.1).sd, 0.479583152331, 1e-10, 0);
}

static void one_pair_says_nothing(void **state)
{
    (void)state;
    assert_true(hr_paired_test(a, b, 1, 0.1).p == 1 && hr_paired_test(a, b, 0, 0.1).p == 1);
    CHECK_NEAR(hr_paired_test(a, b, 1, 0.1).difference, 0.9, 1e-12, 0);
    const double unknown[] = {NAN, 1, 2};
    assert_true(hr_paired_test(a, unknown, 3, 0.1).p == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paired_test_is_scipys),
        cmocka_unit_test(effect_and_its_interval_are_scipys),
        cmocka_unit_test(one_sided_tests_are_scipys),
        cmocka_unit_test(equal_differences_vary_by_half_a_step),
        cmocka_unit_test(one_pair_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
