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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_middle_is_found_in_any_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
