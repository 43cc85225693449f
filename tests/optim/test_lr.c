/* The learning rate's curve at points that can be worked out by hand. */
#include "optim/lr.h"
#include "support/check.h"

static void names_and_kinds_are_one_to_one(void **state)
{
    (void)state;
    enum hr_lr_kind kind;
    CHECK_OK(hr_lr_kind_parse("constant", &kind));
    assert_int_equal(kind, HR_LR_CONSTANT);
    CHECK_OK(hr_lr_kind_parse("cosine", &kind));
    assert_int_equal(kind, HR_LR_COSINE);
    assert_string_equal(hr_lr_kind_name(HR_LR_CONSTANT), "constant");
    assert_string_equal(hr_lr_kind_name(HR_LR_COSINE), "cosine");
    CHECK_FAILS(hr_lr_kind_parse("cosin", &kind), HR_E_USAGE);
    CHECK_MESSAGE("\"cosin\": expected constant or cosine");
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
    const struct hr_lr_schedule schedule = {HR_LR_CONSTANT, 0.1, 0, 10};
    const struct point points[] = {{0, 0.5, 0.1}, {5, 0.5, 0.1}, {10, 0.5, 0.1}, {11, 1, 0.1}};
    check_points(&schedule, points, 4);
}

static void warmup_rises_to_the_peak_and_stops_there(void **state)
{
    (void)state;
    const struct hr_lr_schedule schedule = {HR_LR_CONSTANT, 0.4, 2, 10};
    const struct point points[] = {
        {0, 0.5, 0.1},   {0.5, 0.5, 0.2}, {1, 0.5, 0.3},
        {1.5, 0.5, 0.4}, {1.5, 3, 0.4},   {2, 0.5, 0.4},
    };
    check_points(&schedule, points, 6);
}

static void cosine_falls_from_the_peak_to_zero(void **state)
{
    (void)state;
    const struct hr_lr_schedule schedule = {HR_LR_COSINE, 0.2, 2, 8};
    const struct point points[] = {
        {0, 1, 0.1}, {2, 1, 0.2}, {4, 1, 0.15}, {5, 1, 0.1}, {6, 1, 0.05}, {8, 1, 0}, {9, 1, 0},
    };
    check_points(&schedule, points, 7);
}

static void warmup_may_be_the_whole_run(void **state)
{
    (void)state;
    const struct hr_lr_schedule schedule = {HR_LR_COSINE, 0.2, 4, 4};
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
        cmocka_unit_test(warmup_may_be_the_whole_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
