/* Statistics against published tables and closed forms. */
#include <math.h>

#include "stats/tests.h"
#include "support/check.h"

static void spread_is_mean_and_sample_deviation(void **state)
{
    (void)state;
    const double values[] = {2, 4, 4, 4, 5, 5, 7, 9};
    const struct hr_spread s = hr_spread_of(values, 8);
    CHECK_NEAR(s.mean, 5, 1e-15, 0);
    CHECK_NEAR(s.sd, sqrt(32.0 / 7), 1e-15, 0);
    assert_true(s.least == 2 && s.most == 9 && s.n == 8);
    assert_true(hr_spread_of(values, 1).sd == 0);
}

static void equal_values_have_no_spread_at_all(void **state)
{
    (void)state;
    const double values[] = {0.1, 0.1, 0.1};
    const struct hr_spread s = hr_spread_of(values, 3);
    assert_true(s.mean == 0.1 && s.sd == 0);
}

/* I_x(a, b) for whole a, b is a sum of binomial terms. */
static double beta_by_binomials(int a, int b, double x)
{
    double sum = 0;
    const int n = a + b - 1;
    for (int j = a; j <= n; j++)
        sum += exp(lgamma(n + 1) - lgamma(j + 1) - lgamma(n - j + 1) + j * log(x) +
                   (n - j) * log1p(-x));
    return sum;
}

static void incomplete_beta_is_the_binomial_sum(void **state)
{
    (void)state;
    for (int a = 1; a <= 30; a += 3)
        for (int b = 1; b <= 30; b += 3)
            for (double x = 0.05; x < 1; x += 0.1)
                CHECK_NEAR(hr_beta_incomplete(a, b, x), beta_by_binomials(a, b, x), 1e-11, 1e-15);
    assert_true(hr_beta_incomplete(2, 3, 0) == 0 && hr_beta_incomplete(2, 3, 1) == 1);
    CHECK_NEAR(hr_beta_incomplete(0.5, 0.5, 0.25), 2 / M_PI * asin(0.5), 1e-13, 0);
}

static void student_cdf_gives_the_table(void **state)
{
    (void)state;
    /* Two-sided 5 % and 1 % points, as every table prints them. */
    static const double table[][3] = {{1, 12.706, 63.657}, {2, 4.303, 9.925},  {3, 3.182, 5.841},
                                      {4, 2.776, 4.604},   {5, 2.571, 4.032},  {10, 2.228, 3.169},
                                      {30, 2.042, 2.750},  {120, 1.980, 2.617}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        CHECK_NEAR(hr_student_cdf(table[i][1], table[i][0]), 0.975, 0, 1e-4);
        CHECK_NEAR(hr_student_cdf(-table[i][2], table[i][0]), 0.005, 0, 2e-5);
    }
    CHECK_NEAR(hr_student_cdf(0, 7.3), 0.5, 1e-15, 0);
    CHECK_NEAR(hr_student_cdf(1, 1), 0.75, 1e-13, 0); /* Cauchy: 1/2 + atan(t) / pi */
    CHECK_NEAR(hr_student_cdf(1.96, 1e7), 0.9750021, 0, 1e-6);
    CHECK_NEAR(hr_student_cdf(-1e6, 2), 0.5e-12, 1e-6, 0); /* a tail keeps its digits */
}

static void holm_multiplies_by_the_tests_left_and_never_falls(void **state)
{
    (void)state;
    struct hr_comparison c[] = {{0, 1, 0.04}, {0, 2, 0.01}, {1, 2, 0.03}, {0, 3, 0.005}};
    const double want[] = {0.02, 0.03, 0.06, 0.06};
    hr_holm_adjust(c, 4);
    for (size_t i = 0; i < 4; i++)
        CHECK_NEAR(c[i].p, want[i], 1e-12, 0);
    assert_true(c[0].a == 0 && c[0].b == 3 && c[3].b == 1);
    hr_holm_adjust(c, 0);
}

/* 0 of 10 and 5 of 10: Brown, Cai, DasGupta, "Interval estimation for a binomial proportion", 2001,
 * formula (4). */
/* Of 1, 2, 4, 5: scipy's t.ppf(0.975, 3) times sqrt(10 / 3) / 2. */
static void a_mean_has_students_interval(void **state)
{
    (void)state;
    const double values[] = {1, 2, 4, 5};
    const struct hr_spread spread = hr_spread_of(values, 4);
    const struct hr_interval interval = hr_mean_interval(&spread, 0.95);
    CHECK_NEAR(interval.high, 3 + 3.182446305284263 * sqrt(10 / 3.0) / 2, 1e-9, 0);
    CHECK_NEAR(interval.low + interval.high, 6, 1e-12, 0);
}

static void wilson_stays_within_0_and_1(void **state)
{
    (void)state;
    CHECK_NEAR(hr_wilson_interval(0, 10).low, 0, 0, 0);
    CHECK_NEAR(hr_wilson_interval(0, 10).high, 0.27753, 0, 1e-5);
    CHECK_NEAR(hr_wilson_interval(0.5, 10).low, 0.23659, 0, 1e-5);
    CHECK_NEAR(hr_wilson_interval(0.5, 10).high, 0.76341, 0, 1e-5);
    CHECK_NEAR(hr_wilson_interval(1, 10).low, 0.72247, 0, 1e-5);
    CHECK_NEAR(hr_wilson_interval(1, 10).high, 1, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spread_is_mean_and_sample_deviation),
        cmocka_unit_test(equal_values_have_no_spread_at_all),
        cmocka_unit_test(incomplete_beta_is_the_binomial_sum),
        cmocka_unit_test(student_cdf_gives_the_table),
        cmocka_unit_test(a_mean_has_students_interval),
        cmocka_unit_test(wilson_stays_within_0_and_1),
        cmocka_unit_test(holm_multiplies_by_the_tests_left_and_never_falls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
