/* Fitting gives back the model that durations were drawn from, and says so when none fits. */
#include <math.h>

#include "netsim/delay.h"
#include "support/check.h"

enum { DRAWS = 4000 };

static struct hr_delay_fit fit_of(const char *text)
{
    static double ns[DRAWS];
    struct hr_delay delay;
    CHECK_OK(hr_delay_parse("", text, &delay));
    for (size_t i = 0; i < DRAWS; i++)
        ns[i] = (double)hr_delay_ps(&delay, 5, i % 4, i / 4) / 1e3;
    return hr_delay_fit(ns, DRAWS);
}

static void a_lognormal_is_found_again(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double median_ns, sigma;
    } models[] = {{"lognormal(10ms,0.3)", 1e7, 0.3},
                  {"lognormal(3.1ms,0.02)", 3.1e6, 0.02},
                  {"lognormal(40us,1)", 4e4, 1}};
    for (size_t m = 0; m < 3; m++) {
        const struct hr_delay_fit fit = fit_of(models[m].text);
        const double error = 4 / sqrt(DRAWS); /* of an estimate, four standard deviations */
        assert_int_equal(fit.delay.kind, HR_DELAY_LOGNORMAL);
        CHECK_NEAR((double)fit.delay.time_ps / 1e3, models[m].median_ns, error * models[m].sigma,
                   0);
        CHECK_NEAR(fit.delay.shape, models[m].sigma, error, 0);
        CHECK_NEAR(fit.distance, 0, 0, 1.63 / sqrt(DRAWS)); /* the 1 % point */
    }
    assert_true(fit_of(models[0].text).good);
}

static void what_never_changes_is_a_constant(void **state)
{
    (void)state;
    const struct hr_delay_fit fit = fit_of("7ms");
    assert_int_equal(fit.delay.kind, HR_DELAY_CONSTANT);
    CHECK_NEAR((double)fit.delay.time_ps, 7e9, 1e-9, 0);
    assert_true(fit.good);
}

/* Two speeds, a hard lower end, rare long ones: each is no lognormal. */
static void what_is_something_else_is_told_so(void **state)
{
    (void)state;
    assert_false(fit_of("uniform(1ms,20ms)").good);
    assert_false(fit_of("pareto(1ms,1.5)").good);
    double two[100], rare[1000];
    for (size_t i = 0; i < 100; i++)
        two[i] = i % 2 ? 1e6 : 3e6;
    const struct hr_delay_fit fit = hr_delay_fit(two, 100);
    CHECK_NEAR(fit.mean_ns, 2e6, 1e-12, 0);
    assert_true(fit.distance > 0.25 && !fit.good);
    for (size_t i = 0; i < 1000; i++) /* no distance to speak of, and half of the time */
        rare[i] = i < 10 ? 1e8 : 1e6 * exp(0.1 * cos((double)i));
    assert_false(hr_delay_fit(rare, 1000).good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lognormal_is_found_again),
        cmocka_unit_test(what_never_changes_is_a_constant),
        cmocka_unit_test(what_is_something_else_is_told_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
