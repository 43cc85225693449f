/* Student's t against tables, and pairs worked out by hand. */
#include "policy/pairs.h"

#include <math.h>

#include "support/check.h"

/* Quantiles of two-sided 95 %, as every table has them. */
static void limits_are_those_of_tables(void **state)
{
    (void)state;
    static const double limits[] = {12.7062, 4.3027, 3.1824, 2.7764, 2.5706,
                                    2.4469,  2.3646, 2.3060, 2.2622, 2.2281};
    for (size_t df = 1; df <= 10; df++)
        CHECK_NEAR(hr_pairs_limit(df), limits[df - 1], 0, 6e-5);
    CHECK_NEAR(hr_pairs_limit(60), 2.0003, 0, 6e-5);
    CHECK_NEAR(hr_pairs_within(1, 1), 0.5, 1e-12, 0);
    CHECK_NEAR(hr_pairs_within(2.1318467863266495, 4), 0.9, 1e-12, 0);
    CHECK_NEAR(hr_pairs_within(3.3649299989072, 5), 0.98, 1e-10, 0);
}

/* The target is reached at the second of two evaluations, `before` seconds after the start. */
static struct hr_run_result run(struct hr_curve_point curve[2], double before, double seconds)
{
    curve[0] = (struct hr_curve_point){.seconds = before};
    curve[1] = (struct hr_curve_point){.seconds = seconds};
    return (struct hr_run_result){.target_seconds = seconds, .ncurve = 2, .curve = curve};
}

static void pairs_are_tested_by_their_logarithms(void **state)
{
    (void)state;
    static const double ratios[] = {2, 4, 8};
    struct hr_curve_point curves[6][2];
    struct hr_run_result a[3], b[3];
    for (size_t i = 0; i < 3; i++) {
        a[i] = run(curves[i], 9.99 * (double)(i + 1), 10 * (double)(i + 1));
        b[i] = run(curves[3 + i], 9.99 * (double)(i + 1) * ratios[i],
                   10 * (double)(i + 1) * ratios[i]);
    }
    /* Differences of 1, 2, 3 times log 2: mean 2, deviation 1, t = 2 sqrt(3) of 2: p = 0.0742 */
    CHECK_NEAR(hr_pairs_p(a, b, 3), 0.07417990022744847, 1e-9, 0);
    CHECK_NEAR(hr_pairs_p(b, a, 3), 0.07417990022744847, 1e-9, 0);
    assert_true(isnan(hr_pairs_p(a, b, 1)));
    CHECK_NEAR(hr_pairs_p(a, a, 3), 1, 1e-12, 0);
}

/* All three are a tenth later, to the digit; but evaluations are as far apart as 1 to 2. */
static void a_difference_below_the_step_is_none(void **state)
{
    (void)state;
    struct hr_curve_point curves[6][2];
    struct hr_run_result a[3], b[3];
    for (size_t i = 0; i < 3; i++) {
        a[i] = run(curves[i], 5, 10);
        b[i] = run(curves[3 + i], 5.5, 11);
    }
    assert_true(hr_pairs_p(a, b, 3) > 0.5);
    for (size_t i = 0; i < 3; i++) {
        a[i] = run(curves[i], 9.99, 10);
        b[i] = run(curves[3 + i], 10.99, 11);
    }
    assert_true(hr_pairs_p(a, b, 3) < 0.001);
}

static void the_same_weights_are_the_same(void **state)
{
    (void)state;
    struct hr_run_result a[2] = {{.weights_digest = "x"}, {.weights_digest = "y"}};
    struct hr_run_result b[2] = {{.weights_digest = "x"}, {.weights_digest = "y"}};
    assert_true(hr_pairs_same(a, b, 2));
    b[1].weights_digest[0] = 'z';
    assert_false(hr_pairs_same(a, b, 2));
    b[1].weights_digest[0] = a[1].weights_digest[0] = '\0'; /* diverged */
    assert_false(hr_pairs_same(a, b, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_those_of_tables),
        cmocka_unit_test(pairs_are_tested_by_their_logarithms),
        cmocka_unit_test(a_difference_below_the_step_is_none),
        cmocka_unit_test(the_same_weights_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
