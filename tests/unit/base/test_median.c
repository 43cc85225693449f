/* The middle of odd and even numbers of values. */
#include <math.h>

#include "base/median.h"
#include "support/check.h"

static void the_middle_is_found_in_any_order(void **state)
{
    (void)state;
    double odd[] = {5, 1, 9}, even[] = {8, 1, 2, 4}, one[] = {7};
    assert_true(hr_median(odd, 3) == 5);
    assert_true(hr_median(even, 4) == 3);
    assert_true(hr_median(one, 1) == 7);
    assert_true(isnan(hr_median(one, 0)));
}

/* The pairs of order statistics that tables of the sign test have for 95 %. */
static void a_median_lies_between_as_many_values_from_either_end(void **state)
{
    (void)state;
    static const struct {
        size_t n, out;
    } known[] = {{1, 0},  {5, 0},  {6, 0},  {8, 0},  {9, 1},
                 {11, 1}, {12, 2}, {15, 3}, {20, 5}, {99, 39}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const size_t n = known[i].n;
        double x[99];
        for (size_t k = 0; k < n; k++)
            x[k] = (double)(n - k); /* n, ..., 1 */
        const struct hr_middle middle = hr_middle(x, n);
        assert_true(middle.median == (double)(n + 1) / 2);
        assert_true(middle.low == (double)(1 + known[i].out));
        assert_true(middle.high == (double)(n - known[i].out));
    }
    assert_true(isnan(hr_middle((double[1]){1}, 0).low));
    CHECK_NEAR(hr_middle_spread((struct hr_middle){10, 9, 10.5}), 0.15, 1e-12, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_middle_is_found_in_any_order),
        cmocka_unit_test(a_median_lies_between_as_many_values_from_either_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
