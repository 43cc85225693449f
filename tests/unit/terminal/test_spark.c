/* A curve of a few characters. */
#include "terminal/screen.h"

#include <math.h>
#include <string.h>

#include "support/check.h"

static void it_goes_from_the_lowest_to_the_highest(void **state)
{
    struct hr_spark spark = {0};
    char text[HR_SPARK_MAX];
    (void)state;
    assert_string_equal(hr_spark_draw(&spark, true, text), "");
    hr_spark_add(&spark, 8);
    assert_string_equal(hr_spark_draw(&spark, true, text), "");
    hr_spark_add(&spark, NAN);
    hr_spark_add(&spark, 2.83);
    hr_spark_add(&spark, 1);
    assert_string_equal(hr_spark_draw(&spark, true, text), "█▅▁");
    assert_string_equal(hr_spark_draw(&spark, false, text), "#=_");
}

static void below_zero_heights_are_the_values(void **state)
{
    struct hr_spark spark = {0};
    char text[HR_SPARK_MAX];
    (void)state;
    hr_spark_add(&spark, 7);
    hr_spark_add(&spark, 3);
    hr_spark_add(&spark, -1);
    assert_string_equal(hr_spark_draw(&spark, false, text), "#=_");
}

static void a_flat_one_is_low(void **state)
{
    struct hr_spark spark = {0};
    char text[HR_SPARK_MAX];
    (void)state;
    for (int i = 0; i < 3; i++)
        hr_spark_add(&spark, 2);
    assert_string_equal(hr_spark_draw(&spark, false, text), "___");
}

static void many_are_means_of_several(void **state)
{
    struct hr_spark spark = {0};
    char text[HR_SPARK_MAX];
    (void)state;
    for (int i = 0; i < 16; i++)
        hr_spark_add(&spark, i);
    assert_int_equal(strlen(hr_spark_draw(&spark, false, text)), 16);
    hr_spark_add(&spark, 16);
    assert_int_equal(spark.n, 9);
    CHECK_NEAR(spark.mean[0], 0.5, 0, 0);
    CHECK_NEAR(spark.mean[8], 16, 0, 0);
    for (int i = 17; i < 1000; i++)
        hr_spark_add(&spark, i);
    assert_true(spark.n > 7 && spark.n <= HR_SPARK_WIDTH);
    CHECK_NEAR(spark.mean[0], ((double)spark.each - 1) / 2, 1e-12, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_goes_from_the_lowest_to_the_highest),
        cmocka_unit_test(below_zero_heights_are_the_values),
        cmocka_unit_test(a_flat_one_is_low),
        cmocka_unit_test(many_are_means_of_several),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
