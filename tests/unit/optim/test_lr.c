/* The learning rate's curve at points that can be worked out by hand. */
#include "optim/lr.h"
#include "support/check.h"

static void names_and_kinds_are_one_to_one(void **state)
{
    (void)state;
    enum hr_lr_kind kind;
    CHECK_OK(hr_lr_kind_parse("constant", &kind));
    assert_int_equal(kind, HR_LR_CONSTANT);
    for (enum hr_lr_kind i = HR_LR_CONSTANT; i <= HR_LR_LINEAR; i++) {
        CHECK_OK(hr_lr_kind_parse(hr_lr_kind_name(i), &kind));
        assert_int_equal(kind, i);
    }
    assert_string_equal(hr_lr_kind_name(HR_LR_CONSTANT), "constant");
    assert_string_equal(hr_lr_kind_name(HR_LR_COSINE), "cosine");
    CHECK_FAILS(hr_lr_kind_parse("cosin", &kind), HR_E_USAGE);
    CHECK_MESSAGE("--lr-schedule cosin: expected constant, step, cosine or linear");
}

struct point {
    double epoch, step, rate;
};

static void check_points(const struct hr_lr_schedule *schedule, const struct point *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        CHECK_NEAR((double)hr_lr_at(schedule, p[i].epoch, p[i].step), p[i].rate, 1e-7, 1e-9);
}

static void constant_stays_at_the_peak(void **state)
{
    (void)state;
    const struct hr_lr_schedule schedule = {
        .kind = HR_LR_CONSTANT, .peak = 0.1, .warmup_epochs = 0, .epochs = 10};
    const struct point points[] = {{0, 0.5, 0.1}, {5, 0.5, 0.1}, {10, 0.5, 0.1}, {11, 1, 0.1}};
    check_points(&schedule, points, 4);
}

static void warmup_rises_to_the_peak_and_stops_there(void **state)
{
    (void)state;
    const struct hr_lr_schedule schedule = {
        .kind = HR_LR_CONSTANT, .peak = 0.4, .warmup_epochs = 2, .epochs = 10};
    const struct point points[] = {
        {0, 0.5, 0.1},   {0.5, 0.5, 0.2}, {1, 0.5, 0.3},
        {1.5, 0.5, 0.4}, {1.5, 3, 0.4},   {2, 0.5, 0.4},
    };
    check_points(&schedule, points, 6);
}

static void cosine_falls_from_the_peak_to_zero(void **state)
{
    (void)state;
    const struct hr_lr_schedule schedule = {
        .kind = HR_LR_COSINE, .peak = 0.2, .warmup_epochs = 2, .epochs = 8};
    const struct point points[] = {
        {0, 1, 0.1}, {2, 1, 0.2}, {4, 1, 0.15}, {5, 1, 0.1}, {6, 1, 0.05}, {8, 1, 0}, {9, 1, 0},
    };
    check_points(&schedule, points, 7);
}

static void linear_falls_from_the_peak_to_zero(void **state)
{
    (void)state;
    const struct hr_lr_schedule schedule = {
        .kind = HR_LR_LINEAR, .peak = 0.2, .warmup_epochs = 2, .epochs = 10};
    const struct point points[] = {
        {0, 1, 0.1}, {2, 1, 0.2}, {4, 1, 0.15}, {6, 1, 0.1}, {9, 1, 0.025}, {10, 1, 0}, {11, 1, 0},
    };
    check_points(&schedule, points, 7);
}

/* Epochs are counted from the run's start, as in torch's StepLR. */
static void steps_multiply_the_rate_after_so_many_epochs(void **state)
{
    (void)state;
    const struct hr_lr_schedule schedule = {.kind = HR_LR_STEP,
                                            .peak = 0.8,
                                            .warmup_epochs = 1,
                                            .epochs = 9,
                                            .step_epochs = 3,
                                            .gamma = 0.5};
    const struct point points[] = {
        {0, 0.5, 0.4},  {1, 1, 0.8}, {2.99, 1, 0.8}, {3, 1, 0.4},
        {5.99, 1, 0.4}, {6, 1, 0.2}, {8.99, 1, 0.2}, {12, 1, 0.05},
    };
    check_points(&schedule, points, 8);
}

static void warmup_may_be_the_whole_run(void **state)
{
    (void)state;
    const struct hr_lr_schedule schedule = {
        .kind = HR_LR_COSINE, .peak = 0.2, .warmup_epochs = 4, .epochs = 4};
    const struct point points[] = {{2, 0, 0.1}, {3.5, 0.5, 0.2}, {4, 1, 0}};
    check_points(&schedule, points, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_kinds_are_one_to_one),
        cmocka_unit_test(constant_stays_at_the_peak),
        cmocka_unit_test(warmup_rises_to_the_peak_and_stops_there),
        cmocka_unit_test(cosine_falls_from_the_peak_to_zero),
        cmocka_unit_test(linear_falls_from_the_peak_to_zero),
        cmocka_unit_test(steps_multiply_the_rate_after_so_many_epochs),
        cmocka_unit_test(warmup_may_be_the_whole_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
