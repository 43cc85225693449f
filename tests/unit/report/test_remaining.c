/* How long the runs will take that have not begun. */
#include "report/progress.h"

#include <math.h>

#include "support/check.h"

static void nothing_is_said_without_a_basis(void **state)
{
    const struct hr_remaining remaining = {.n = 4, .per_seed = 2, .epochs = {10, 10, 10, 10}};
    (void)state;
    assert_true(isnan(hr_remaining_after(&remaining, 0, NAN)));
    assert_true(isnan(hr_remaining_expect(&remaining, 0)));
    CHECK_NEAR(hr_remaining_after(&remaining, 3, NAN), 0, 0, 0);
}

static void unmeasured_entries_take_the_mean_of_those_measured(void **state)
{
    const struct hr_remaining remaining = {
        .n = 6, .per_seed = 3, .epochs = {10, 10, 10, 10, 10, 10}, .seconds = {4, 0, 0}};
    (void)state;
    /* Run 1 will take 8; entry 2 then 6, and all three once more. */
    CHECK_NEAR(hr_remaining_after(&remaining, 1, 8), 6 + 4 + 8 + 6, 1e-12, 0);
    CHECK_NEAR(hr_remaining_after(&remaining, 1, NAN), 4 * 4, 1e-12, 0);
    CHECK_NEAR(hr_remaining_expect(&remaining, 3), 4, 1e-12, 0);
}

static void time_goes_by_epochs(void **state)
{
    const struct hr_remaining remaining = {
        .n = 2, .per_seed = 2, .epochs = {10, 30}, .seconds = {5}};
    (void)state;
    CHECK_NEAR(hr_remaining_after(&remaining, 0, 5), 15, 1e-12, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_said_without_a_basis),
        cmocka_unit_test(unmeasured_entries_take_the_mean_of_those_measured),
        cmocka_unit_test(time_goes_by_epochs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
