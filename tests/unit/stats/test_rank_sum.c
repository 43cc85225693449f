/* The rank-sum test against the tables of Mann and Whitney. */
#include "stats/tests.h"
#include "support/check.h"

static void p_is_exact(void **state)
{
    (void)state;
    static const double a[] = {1, 2, 3, 4, 5}, b[] = {6, 7, 8, 9, 10}, c[] = {2.5, 7, 8, 9, 10};
    CHECK_NEAR(hr_rank_sum_p(a, 5, b, 5), 2.0 / 252, 1e-12, 0);
    CHECK_NEAR(hr_rank_sum_p(b, 5, a, 5), 2.0 / 252, 1e-12, 0);
    CHECK_NEAR(hr_rank_sum_least(5, 5), 2.0 / 252, 1e-12, 0);
    CHECK_NEAR(hr_rank_sum_p(a, 5, c, 5), 2 * 7.0 / 252, 1e-12,
               0); /* U = 3: 1 + 1 + 2 + 3 orders */
    CHECK_NEAR(hr_rank_sum_p(a, 4, b, 3), 2.0 / 35, 1e-12, 0);
    assert_true(hr_rank_sum_p(a, 5, a, 5) >= 1 && hr_rank_sum_p(a, 0, b, 5) >= 1);
}

static void equal_values_are_on_the_safe_side(void **state)
{
    (void)state;
    static const double a[] = {1, 1, 1, 1, 1}, b[] = {1, 2, 2, 2, 2};
    CHECK_NEAR(hr_rank_sum_p(a, 5, b, 5), 2 * 7.0 / 252, 1e-12, 0); /* U = 2.5, taken as 3 */
}

/* 50 times 50 pairs are exact, 51 times 50 normal: they agree. */
static void many_values_are_normal(void **state)
{
    (void)state;
    double a[51], b[51];
    for (size_t i = 0; i < 51; i++) {
        a[i] = i < 50 ? (double)i : 24.5; /* one more, in the middle */
        b[i] = (double)i + 10.3;
    }
    const double exact = hr_rank_sum_p(a, 50, b, 50), normal = hr_rank_sum_p(a, 51, b, 50);
    assert_true(exact > 1e-6 && exact < 1e-2);
    CHECK_NEAR(normal, exact, 0.2, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p_is_exact),
        cmocka_unit_test(equal_values_are_on_the_safe_side),
        cmocka_unit_test(many_values_are_normal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
