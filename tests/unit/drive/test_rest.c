/* A rank that was started again waits until it is welcome, or has come too late. */
#include "drive/rest.h"

#include <stdlib.h>
#include <string.h>

#include "support/check.h"

enum { NRANKS = 2 };

static void who_comes_too_late_leaves(void **state)
{
    (void)state;
    struct hr_waiter waiter = {.abort = NULL};
    struct hr_rest rest;
    bool over = false;
    struct hr_control *control = aligned_alloc(HR_LINE, hr_control_bytes(NRANKS));
    assert_non_null(control);
    memset(control, 0, hr_control_bytes(NRANKS));
    hr_control_init(control, NRANKS);
    waiter.abort = &control->abort;
    hr_roster_lose(control, 1, false);
    hr_rest_open(&rest, control, &waiter, 1);
    hr_roster_end(control);
    CHECK_OK(hr_rest_join(&rest, &over));
    assert_true(over);
    assert_int_equal(hr_atom32_load_relaxed(&control->rank[1].stage), HR_STAGE_JOINS);
    hr_roster_welcome(control, 1, false); /* and one who does not is in time */
    CHECK_OK(hr_rest_join(&rest, &over));
    assert_false(over);
    free(control);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_comes_too_late_leaves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
