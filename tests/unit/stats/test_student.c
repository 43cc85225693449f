/* Quantiles, the noncentral t, power and components, against scipy 1.17.1 and
 * statsmodels 0.15.0; the calls that gave the values stand above them. */
#include <math.h>

#include "stats/tests.h"
#include "support/check.h"

static void quantiles_are_scipys(void **state)
{
    (void)state;
    /* scipy.stats.t.ppf(p, df); the first three are printed in any table */
    static const double want[][3] = {
        {0.975, 1, 12.7062047361747},      {0.975, 2, 4.30265272974946},
        {0.995, 4, 4.60409487134999},      {0.9, 2.5, 1.73025092880718},
        {0.9995, 9, 4.78091258593122},     {0.0025, 2, -14.0890472755553},
        {0.6, 30, 0.255605364951913},      {0.999999999, 3, 1033.10968424328},
        {0.975, 1000000, 1.95996635681411}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        CHECK_NEAR(hr_student_quantile(want[i][0], want[i][1]), want[i][2], 1e-7, 0);
    assert_true(hr_student_quantile(0.5, 3) == 0);
}

static void quantile_and_distribution_are_inverse(void **state)
{
    (void)state;
    for (double df = 1; df < 100; df *= 1.7)
        for (double p = 0.001; p < 1; p += 0.0421)
            CHECK_NEAR(hr_student_cdf(hr_student_quantile(p, df), df), p, 1e-11, 0);
}

static void noncentral_t_is_scipys(void **state)
{
    (void)state;
    /* scipy.stats.nct.cdf(t, df, delta) */
    static const double want[][4] = {{0, 3, 1, 0.158655253931},
                                     {1, 2, 1, 0.455745808786},
                                     {4.302652729911275, 2, 4, 0.435485875467},
                                     {-1, 5, 0.5, 0.0824440910567},
                                     {2, 4, -1.5, 0.998007564216},
                                     {12.706, 1, 40, 0.00169864722074},
                                     {30, 10, 35, 0.193990411889},
                                     {2.0, 7.5, 2.0, 0.475030997083},
                                     {60, 3, 50, 0.555305920945},
                                     {1.5, 200, 3, 0.0671097067115},
                                     /* large delta: mpmath's integral over the numerator */
                                     {12.706, 1, 60, 2.50624355965e-6},
                                     {60, 4, 45, 0.689734447306},
                                     {45, 30, 50, 0.179473637164},
                                     {1273.2, 1, 3000, 0.0184596468494},
                                     {2420, 2, 2500, 0.343967421752},
                                     {63662, 1, 100000, 0.116230096116},
                                     {40, 500, 38, 0.890543479927},
                                     {-60, 4, -45, 1 - 0.689734447306},
                                     {12.706, 1, 1e9, 0}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        CHECK_NEAR(hr_noncentral_t_cdf(want[i][0], want[i][1], want[i][2]), want[i][3], 1e-9, 0);
    CHECK_NEAR(hr_noncentral_t_cdf(1.3, 6, 0), hr_student_cdf(1.3, 6), 0, 0);
}

static void delta_is_where_the_noncentral_t_has_p(void **state)
{
    (void)state;
    for (double t = -3; t < 30; t += 2.7)
        for (double p = 0.025; p < 1; p += 0.19)
            CHECK_NEAR(hr_noncentral_t_cdf(t, 4, hr_noncentral_t_delta(t, 4, p)), p, 0, 1e-7);
}

static void power_is_statsmodels(void **state)
{
    (void)state;
    /* statsmodels.stats.power.TTestPower().power(effect, n, level) */
    static const double want[][4] = {
        {0.5, 10, 0.05, 0.293175606514},  {1, 5, 0.05, 0.401389917372},
        {2, 3, 0.05, 0.470749431278},     {4, 3, 0.005, 0.216835520492},
        {0.3, 100, 0.05, 0.843947102737}, {1.5, 8, 0.01, 0.740934875501}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        CHECK_NEAR(hr_power(want[i][0] * sqrt(want[i][1]), want[i][1] - 1, want[i][2]), want[i][3],
                   1e-8, 0);
    assert_true(hr_power(3, 0, 0.05) == 0);
}

static void power_tells_differences_and_pairs(void **state)
{
    (void)state;
    /* scipy.optimize.brentq of the power by scipy.stats.nct; TTestPower().solve_power's pairs */
    CHECK_NEAR(hr_power_difference(3, 0.05, 0.8), 3.264043549699571, 1e-7, 0);
    CHECK_NEAR(hr_power_difference(5, 0.05, 0.8), 1.6819969659555558, 1e-6, 0);
    CHECK_NEAR(hr_power_difference(3, 0.005, 0.8), 10.355180625585948, 1e-6, 0);
    CHECK_NEAR(hr_power_difference(20, 0.01, 0.8), 0.838444985063185, 1e-6, 0);
    assert_true(isinf(hr_power_difference(1, 0.05, 0.8)));
    assert_true(hr_power_pairs(0.5, 0.05, 0.8, 1000) == 34); /* 33.367 */
    assert_true(hr_power_pairs(1, 0.05, 0.8, 1000) == 10);   /* 9.938 */
    assert_true(hr_power_pairs(0.8, 0.005, 0.8, 1000) == 25);
    assert_true(hr_power_pairs(0.2, 0.05, 0.8, 1000) == 199);
    assert_true(hr_power_pairs(0.2, 0.05, 0.8, 100) == 100);
    assert_true(hr_power_pairs(50, 0.05, 0.8, 100) == 2);
}

static void components_split_the_variance(void **state)
{
    (void)state;
    /* scipy.stats.f_oneway gives p; n0 = (9 - 29/9) / 2, between = sqrt((MSB - MSW) / n0) */
    const double values[] = {3, 4, 5, 6, 8, 1, 2, 2, 3};
    const size_t count[] = {3, 0, 2, 4};
    const struct hr_components c = hr_components_of(values, count, 4);
    CHECK_NEAR(c.within, 1, 1e-12, 0);
    CHECK_NEAR(c.between, 2.3369934663, 1e-9, 0);
    CHECK_NEAR(c.share, 5.461538461538 / 6.461538461538, 1e-9, 0);
    CHECK_NEAR(c.p, 0.0034900470800843715, 1e-9, 0);
    assert_true(c.groups == 3 && c.n == 9);
}

static void components_know_what_cannot_be_told(void **state)
{
    (void)state;
    const double values[] = {3, 5, 3, 5}, same[] = {2, 2, 7, 7};
    const size_t pairs[] = {2, 2}, singles[] = {1, 1, 1, 1};
    const struct hr_components none = hr_components_of(values, singles, 4);
    assert_true(isnan(none.within) && isnan(none.between) && none.p == 1);
    const struct hr_components within = hr_components_of(values, pairs, 2);
    assert_true(within.between == 0 && within.share == 0);
    CHECK_NEAR(within.within, sqrt(2), 1e-12, 0);
    const struct hr_components between = hr_components_of(same, pairs, 2);
    assert_true(between.within == 0 && between.share == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_scipys),
        cmocka_unit_test(quantile_and_distribution_are_inverse),
        cmocka_unit_test(noncentral_t_is_scipys),
        cmocka_unit_test(delta_is_where_the_noncentral_t_has_p),
        cmocka_unit_test(power_is_statsmodels),
        cmocka_unit_test(power_tells_differences_and_pairs),
        cmocka_unit_test(components_split_the_variance),
        cmocka_unit_test(components_know_what_cannot_be_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
