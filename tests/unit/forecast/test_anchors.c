/* The short runs that a forecast is made from: which there are for which strategies, and that parts
 * are what they came to. How long they take is no matter here. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "forecast/anchors.h"
#include "support/runs.h"

static int stops(void *arg)
{
    (void)arg;
    return 1;
}

static void time_kinds(unsigned kinds, struct hr_anchors *anchors)
{
    const struct hr_train_options o = run_options("allreduce", 1);
    setenv("HOGRING_CPUS", "2", 1);
    CHECK_OK(hr_anchors_time(&o, run_digits(), kinds, 0.2, NULL, anchors));
}

static void only_what_a_strategy_needs_is_timed(void **state)
{
    (void)state;
    struct hr_anchors anchors;
    time_kinds(1u << HR_PACE_SUMMED, &anchors);
    assert_non_null(hr_anchors_find(&anchors, "allreduce", 1, 0));
    assert_non_null(hr_anchors_find(&anchors, "allreduce", 2, 0));
    assert_null(hr_anchors_find(&anchors, "hogwild", 2, 0));
    assert_null(hr_anchors_find(&anchors, "ps-async", 1, 1));
    assert_true(isnan(anchors.parts.free) && isnan(anchors.parts.served_alone));
    time_kinds(1u << HR_PACE_FREE | 1u << HR_PACE_SERVED, &anchors);
    assert_non_null(hr_anchors_find(&anchors, "hogwild", 2, 0));
    assert_non_null(hr_anchors_find(&anchors, "ps-async", 2, 1));
    assert_null(hr_anchors_find(&anchors, "ps-async", 2, 3));
    assert_null(hr_anchors_find(&anchors, "ps-sync", 2, 1));
}

static void parts_are_what_the_runs_came_to(void **state)
{
    (void)state;
    struct hr_anchors anchors;
    time_kinds(1u << HR_PACE_FREE | 1u << HR_PACE_SERVED, &anchors);
    const struct hr_pace_parts *parts = &anchors.parts;
    CHECK_NEAR(parts->alone, hr_anchors_find(&anchors, "allreduce", 1, 0)->gradient, 0, 0);
    CHECK_NEAR(parts->together, 2 * hr_anchors_find(&anchors, "allreduce", 2, 0)->gradient, 0, 0);
    CHECK_NEAR(parts->free, 2 * hr_anchors_find(&anchors, "hogwild", 2, 0)->gradient, 0, 0);
    CHECK_NEAR(parts->served[0], hr_anchors_find(&anchors, "ps-async", 2, 1)->gradient, 0, 0);
    assert_true(parts->compute > 0 && parts->update >= 0);
    for (size_t i = 0; i < anchors.n; i++)
        assert_true(anchors.anchor[i].gradient > 0 && isfinite(anchors.anchor[i].gradient));
    const struct hr_anchor *crowd = hr_anchors_find(&anchors, "allreduce", 4, 0);
    if (crowd) /* a machine that takes its time has no time for it */
        CHECK_NEAR(parts->round, 2 * crowd->gradient, 0, 0);
}

static void it_may_be_stopped(void **state)
{
    (void)state;
    struct hr_anchors anchors;
    const struct hr_train_options o = run_options("allreduce", 1);
    CHECK_FAILS(hr_anchors_time(&o, run_digits(), 1, 0.2, stops, &anchors), HR_E_INTERRUPTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_a_strategy_needs_is_timed),
        cmocka_unit_test(parts_are_what_the_runs_came_to),
        cmocka_unit_test(it_may_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
