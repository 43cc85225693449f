/* The clock of a run, which need not be this machine's own. */
#include "base/clock.h"

#include "support/check.h"

static const int64_t YEAR = 31536000 * HR_NS_PER_SECOND, HOUR = 3600 * HR_NS_PER_SECOND;

static void machines_beside_the_first_add_their_offset(void **state)
{
    (void)state;
    const int64_t before = hr_clock_own_ns();
    assert_true(hr_clock_ns() - before < HOUR);
    hr_clock_set_offset(YEAR);
    assert_true(hr_clock_ns() - before >= YEAR && hr_clock_ns() - before < YEAR + HOUR);
    assert_true(hr_clock_coarse_ns() - before > YEAR - HOUR);
    assert_true(hr_clock_own_ns() - before < HOUR);
    hr_clock_set_offset(-YEAR);
    assert_true(before - hr_clock_ns() > YEAR - HOUR);
    hr_clock_set_offset(0);
    assert_true(hr_clock_ns() >= before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(machines_beside_the_first_add_their_offset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
