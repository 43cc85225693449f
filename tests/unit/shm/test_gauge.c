/* What a rank and the launcher say while a run goes on. */
#include "shm/control.h"

#include <math.h>
#include <stdlib.h>

#include "support/check.h"

static void a_gauge_has_what_was_told_last(void **state)
{
    struct hr_gauge gauge = {0};
    struct hr_account account = {0};
    (void)state;
    hr_account_open(&account, 100);
    account.spent_ns[HR_COMPUTE] = 7;
    hr_gauge_work(&gauge, 64, 2);
    hr_gauge_time(&gauge, &account);
    hr_gauge_staleness(&gauge, 2, 3, 2);
    hr_gauge_served(&gauge, 9, 4);
    assert_int_equal(hr_atom64_load_relaxed(&gauge.samples), 64);
    assert_int_equal(hr_atom64_load_relaxed(&gauge.gradients), 2);
    assert_int_equal(hr_atom64_load_relaxed(&gauge.spent_ns[HR_COMPUTE]), 7);
    assert_int_equal(hr_atom64_load_relaxed(&gauge.since_ns), 100);
    assert_int_equal(hr_atom64_load_relaxed(&gauge.doing), 1 + HR_WAIT);
    assert_int_equal(hr_atom64_load_relaxed(&gauge.updates), 2);
    assert_int_equal(hr_atom64_load_relaxed(&gauge.stale_sum), 3);
    assert_int_equal(hr_atom64_load_relaxed(&gauge.stale_max), 2);
    assert_int_equal(hr_atom64_load_relaxed(&gauge.taken), 9);
    assert_int_equal(hr_atom64_load_relaxed(&gauge.waiting), 4);
}

static void a_closed_account_does_nothing(void **state)
{
    struct hr_gauge gauge = {0};
    struct hr_account account = {0};
    (void)state;
    hr_account_open(&account, 100);
    hr_account_close(&account, 300);
    hr_gauge_time(&gauge, &account);
    assert_int_equal(hr_atom64_load_relaxed(&gauge.doing), 0);
    assert_int_equal(hr_atom64_load_relaxed(&gauge.spent_ns[HR_WAIT]), 200);
}

static void a_course_begins_without_a_loss(void **state)
{
    struct hr_control *control = aligned_alloc(HR_LINE, hr_control_bytes(1));
    (void)state;
    assert_non_null(control);
    memset(control, 0, hr_control_bytes(1));
    hr_control_init(control, 1);
    hr_about_run(&control->about, "a-strategy-with-a-name-longer-than-there-is-room-for", 5);
    assert_true(isnan(hr_course_load(&control->course.loss)));
    assert_int_equal(hr_atom64_load_relaxed(&control->course.updated_ns), 0);
    hr_course_store(&control->course.loss, 0.25);
    assert_true(hr_course_load(&control->course.loss) == 0.25);
    assert_int_equal(strlen(control->about.strategy), sizeof control->about.strategy - 1);
    assert_int_equal(control->about.segment_bytes, 5);
    free(control);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gauge_has_what_was_told_last),
        cmocka_unit_test(a_closed_account_does_nothing),
        cmocka_unit_test(a_course_begins_without_a_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
