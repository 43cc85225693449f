/* Quantiles of small histograms, counted by hand. */
#include "train/dense_result.h"
#include "support/check.h"

static void quantile_is_the_bucket_where_the_sum_arrives(void **state)
{
    (void)state;
    const uint64_t counts[] = {50, 49, 0, 1};
    assert_int_equal(hr_histogram_quantile(counts, 4, 0.5), 0);
    assert_int_equal(hr_histogram_quantile(counts, 4, 0.51), 1);
    assert_int_equal(hr_histogram_quantile(counts, 4, 0.99), 1);
    assert_int_equal(hr_histogram_quantile(counts, 4, 1), 3);
    assert_int_equal(hr_histogram_quantile(counts, 0, 0.5), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantile_is_the_bucket_where_the_sum_arrives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
