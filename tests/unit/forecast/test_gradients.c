/* Gradients for the noise scale: those of the run itself, and what is said where there are none. */
#include <math.h>
#include <stdlib.h>

#include "forecast/noise.h"
#include "support/runs.h"

static void products_are_sums_over_parameters(void **state)
{
    (void)state;
    const float gradients[] = {1, 2, 3, -1, 0.5f, 4};
    double products[4];
    hr_noise_products(gradients, 2, 3, products);
    const double want[] = {14, 12, 12, 17.25};
    for (size_t i = 0; i < 4; i++)
        CHECK_NEAR(products[i], want[i], 0, 0);
}

/* The scale does not depend on the batch that it is estimated from: intervals meet. */
static void batches_of_all_sizes_have_one_scale(void **state)
{
    (void)state;
    struct hr_train_options o = run_options("allreduce", 1);
    struct hr_noise_report small, large;
    CHECK_OK(hr_train_complete(&o));
    o.batch_size = 8;
    CHECK_OK(hr_noise_measure(&o, run_digits(), 3, &small));
    o.batch_size = 64;
    CHECK_OK(hr_noise_measure(&o, run_digits(), 3, &large));
    assert_null(small.missing);
    assert_int_equal(small.start.batches, HR_NOISE_BATCHES);
    assert_int_equal(small.steps, run_digits()->train.count / 8);
    assert_true(small.start.low < large.start.high && large.start.low < small.start.high);
    assert_true(small.start.low > 1 && isfinite(small.start.high));
}

static void of_values_there_is_none(void **state)
{
    (void)state;
    struct hr_noise_report report;
    const struct hr_train_options o = run_options("allreduce", 1);
    CHECK_OK(hr_noise_measure(&o, run_values(), 1, &report));
    assert_non_null(report.missing);
    CHECK_OK(hr_noise_measure(&o, run_tiny(), 1, &report));
    assert_non_null(report.missing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_sums_over_parameters),
        cmocka_unit_test(batches_of_all_sizes_have_one_scale),
        cmocka_unit_test(of_values_there_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
