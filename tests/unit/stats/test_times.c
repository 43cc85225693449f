/* Paired times: known ones by Student's test, cut ones by signs. */
#include <math.h>

#include "stats/tests.h"
#include "stats/times.h"
#include "support/check.h"

/* Seen at `at`, looked at every 1 from 1 to 10; at 0: not reached. */
static struct hr_reach seen(size_t pair, double at)
{
    return (struct hr_reach){
        .pair = pair, .reached = at > 0, .at = at, .before = at - 1, .first = 1, .budget = 10};
}

static void signs_are_counted(void **state)
{
    (void)state;
    const double up[] = {1, 2, 3, 4, 5, 6}, mixed[] = {3, -1, 2}, none[] = {0, 0};
    CHECK_NEAR(hr_signs_p(up, 6), 2.0 / 64, 1e-12, 0);
    CHECK_NEAR(hr_signs_p(up, 1), 1, 1e-12, 0);
    /* sums of +-3 +-1 +-2 at least 4 from 0: 6, 4 and their mirrors, of 8 */
    CHECK_NEAR(hr_signs_p(mixed, 3), 0.5, 1e-12, 0);
    assert_true(hr_signs_p(none, 2) == 1);
    assert_true(hr_signs_needed(0.05) == 6 && hr_signs_needed(0.005) == 9);
}

static void known_times_are_tested_by_their_logarithms(void **state)
{
    (void)state;
    const struct hr_reach a[] = {seen(0, 8), seen(1, 6), seen(2, 10)};
    const struct hr_reach b[] = {seen(0, 4), seen(1, 4), seen(2, 5)};
    const struct hr_paired_times t = hr_paired_times_test(a, 3, b, 3, 3);
    assert_false(t.exact);
    CHECK_NEAR(t.test.difference, (log(2) + log(1.5) + log(2)) / 3, 1e-12, 0);
    /* differences 0.693, 0.405, 0.693: sd 0.166, above half of the longest step, log(4/3) / 2 */
    CHECK_NEAR(t.test.sd, (log(2) - log(1.5)) / sqrt(3), 1e-12, 0);
    CHECK_NEAR(t.test.p, hr_student_two_sided(t.test.difference / t.test.sd * sqrt(3), 2), 1e-12,
               0);
    assert_int_equal(t.unknown, 0);
}

static void looks_that_are_rare_leave_a_spread(void **state)
{
    (void)state;
    const struct hr_reach a[] = {seen(0, 3), seen(1, 3), seen(2, 3)};
    const struct hr_reach b[] = {seen(0, 2), seen(1, 2), seen(2, 2)};
    const struct hr_paired_times t = hr_paired_times_test(a, 3, b, 3, 3);
    CHECK_NEAR(t.test.sd, log(2) / 2, 1e-12, 0); /* from 1 to 2 */
    assert_true(t.test.p > 0.05);
}

static void times_that_are_not_known_are_cut_on_both_sides(void **state)
{
    (void)state;
    struct hr_reach a[6], b[6];
    for (size_t i = 0; i < 6; i++) {
        a[i] = seen(i, i ? 9 : 0);
        b[i] = seen(i, i == 3 ? 1 : 3);
        b[i].budget = 5; /* what of a is later, is no more than 5 */
    }
    const struct hr_paired_times t = hr_paired_times_test(a, 6, b, 6, 6);
    assert_true(t.exact && t.unknown == 2);
    CHECK_NEAR(t.test.difference, (5 * log(5.0 / 3) + log(5)) / 6, 1e-12, 0);
    CHECK_NEAR(t.test.p, 2.0 / 64, 1e-12, 0);
    assert_true(isinf(t.test.interval.high) && isnan(t.test.effect));
}

static void five_pairs_that_are_not_known_claim_nothing(void **state)
{
    (void)state;
    struct hr_reach a[5], b[5];
    for (size_t i = 0; i < 5; i++) {
        a[i] = seen(i, 0);
        b[i] = seen(i, 2);
    }
    assert_true(hr_paired_times_test(a, 5, b, 5, 5).test.p > 0.05);
    assert_true(hr_paired_times_test(a, 5, a, 5, 5).test.p == 1); /* nobody reached it */
}

static void orders_of_a_pair_count_by_their_mean(void **state)
{
    (void)state;
    const struct hr_reach a[] = {seen(0, 2), seen(0, 8), seen(1, 6)};
    const struct hr_reach b[] = {seen(0, 4), seen(1, 3)};
    const struct hr_paired_times t = hr_paired_times_test(a, 3, b, 2, 2);
    CHECK_NEAR(t.test.difference, log(2) / 2, 1e-12, 0); /* 0 and log 2 */
    assert_int_equal(t.test.n, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signs_are_counted),
        cmocka_unit_test(known_times_are_tested_by_their_logarithms),
        cmocka_unit_test(looks_that_are_rare_leave_a_spread),
        cmocka_unit_test(times_that_are_not_known_are_cut_on_both_sides),
        cmocka_unit_test(five_pairs_that_are_not_known_claim_nothing),
        cmocka_unit_test(orders_of_a_pair_count_by_their_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
