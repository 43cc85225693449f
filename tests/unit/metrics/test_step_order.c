/* Steps of workers that are ahead of one another come in order, none too early and none twice. */
#include "metrics/metrics.h"

#include <math.h>

#include "support/check.h"

static void add(struct hr_step_order *order, size_t worker, uint64_t step, bool dropped)
{
    CHECK_OK(hr_step_order_add(order, &(struct hr_step_report){.worker = worker,
                                                               .step = step,
                                                               .batch = 2,
                                                               .loss = (double)step,
                                                               .norm = 3,
                                                               .dropped = dropped}));
}

static void a_step_waits_for_all_workers(void **state)
{
    (void)state;
    struct hr_step_order order;
    struct hr_merged_step step;
    CHECK_OK(hr_step_order_open(&order, 2));
    add(&order, 0, 1, false);
    add(&order, 0, 4, false);
    assert_false(hr_step_order_next(&order, 0, &step));
    add(&order, 1, 2, false);
    add(&order, 1, 3, true);
    for (uint64_t want = 1; want <= 3; want++) {
        assert_true(hr_step_order_next(&order, 0, &step));
        assert_int_equal(step.step, want);
        assert_int_equal(step.samples, want == 3 ? 0 : 2);
        assert_int_equal(step.norms, want == 3 ? 0 : 1); /* it was dropped */
    }
    assert_false(hr_step_order_next(&order, 0, &step));
    assert_true(hr_step_order_next(&order, UINT64_MAX, &step));
    assert_int_equal(step.step, 4);
    assert_false(hr_step_order_next(&order, UINT64_MAX, &step));
    hr_step_order_close(&order);
}

/* Far apart, and many: worker 0 tells 1000 steps before worker 1 tells any. */
static void shares_of_a_step_become_one(void **state)
{
    (void)state;
    struct hr_step_order order;
    struct hr_merged_step step;
    enum { STEPS = 1000 };
    CHECK_OK(hr_step_order_open(&order, 2));
    for (uint64_t s = 1; s <= STEPS; s++)
        add(&order, 0, s, false);
    for (uint64_t s = 1; s <= STEPS; s++) {
        add(&order, 1, s, false);
        assert_true(hr_step_order_next(&order, 0, &step));
        assert_int_equal(step.step, s);
        assert_int_equal(step.samples, 4);
        assert_int_equal(step.norms, 2);
        CHECK_NEAR(step.loss, 4 * (double)s, 0, 0);
        assert_false(hr_step_order_next(&order, 0, &step));
    }
    hr_step_order_close(&order);
}

static void a_save_completes_what_is_up_to_it(void **state)
{
    (void)state;
    struct hr_step_order order;
    struct hr_merged_step step;
    CHECK_OK(hr_step_order_open(&order, 2));
    for (uint64_t s = 1; s <= 5; s++)
        add(&order, 0, s, false);
    for (uint64_t want = 1; want <= 3; want++) {
        assert_true(hr_step_order_next(&order, 3, &step));
        assert_int_equal(step.step, want);
    }
    assert_false(hr_step_order_next(&order, 3, &step));
    hr_step_order_close(&order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_waits_for_all_workers),
        cmocka_unit_test(shares_of_a_step_become_one),
        cmocka_unit_test(a_save_completes_what_is_up_to_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
