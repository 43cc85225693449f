/* --tune: the values of ranges and lists, and what cannot be tuned. */

#include <stdio.h>
#include <string.h>

#include "options/sweep.h"
#include "support/check.h"

static struct hr_cli cli, tuned;

static enum hr_status axes_of(const char *text)
{
    hr_cli_defaults(&cli);
    snprintf(cli.tune, sizeof cli.tune, "%s", text);
    return hr_tune_axes(&cli, &tuned);
}

static void expect_values(const char *text, const char *values)
{
    assert_int_equal(axes_of(text), HR_OK);
    assert_int_equal(tuned.naxes, 1);
    assert_string_equal(tuned.axes[0].values, values);
}

static void a_range_has_both_ends_and_equal_ratios(void **state)
{
    (void)state;
    expect_values("lr=0.005:0.5", "0.005,0.0097,0.019,0.036,0.069,0.13,0.26,0.5");
    expect_values("lr=0.01:1:3", "0.01,0.1,1");
    expect_values("lr=0.0123:0.123:2", "0.0123,0.123");
    expect_values("lr=1:1.1:3", "1,1.049,1.1");
}

static void whole_numbers_stay_whole_and_differ(void **state)
{
    (void)state;
    expect_values("sync-every=1:8:4", "1,2,4,8");
    expect_values("sync-every=1:4:8", "1,2,3,4");
}

static void lists_are_as_they_were_given(void **state)
{
    (void)state;
    expect_values("momentum=0,0.9", "0,0.9");
    assert_int_equal(axes_of("lr=0.1,0.2; momentum=0,0.5,0.9"), HR_OK);
    assert_int_equal(tuned.naxes, 2);
    assert_int_equal(hr_sweep_points(&tuned), 6);
}

static void a_bare_one_has_rates_around_the_given_one_and_no_momentum(void **state)
{
    (void)state;
    hr_cli_defaults(&cli);
    assert_int_equal(hr_tune_usual_axes(&cli, &cli.train, &tuned), HR_OK);
    assert_int_equal(tuned.naxes, 2);
    assert_string_equal(tuned.axes[0].values, "0.00625,0.0125,0.025,0.05,0.1,0.2,0.4,0.8");
    assert_string_equal(tuned.axes[1].values, "0,0.9");
    cli.train.lr = 1;
    snprintf(cli.train.optimizer, sizeof cli.train.optimizer, "adam");
    assert_int_equal(hr_tune_usual_axes(&cli, &cli.train, &tuned), HR_OK);
    assert_int_equal(tuned.naxes, 1);
    assert_string_equal(tuned.axes[0].values, "0.125,0.25,0.5,1,2,4,8,16");
}

static void several_are_given_one_after_the_other(void **state)
{
    (void)state;
    hr_cli_defaults(&cli);
    assert_int_equal(hr_sweep_set(&cli, HR_COMPARE, "tune", "lr=0.1,0.2", ""), HR_OK);
    assert_int_equal(hr_sweep_set(&cli, HR_COMPARE, "tune", "momentum=0,0.9", ""), HR_OK);
    assert_string_equal(cli.tune, "lr=0.1,0.2;momentum=0,0.9");
    assert_true(hr_cli_was_given(&cli, "tune"));
    char long_text[600];
    memset(long_text, '1', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    assert_int_equal(hr_sweep_set(&cli, HR_COMPARE, "tune", long_text, ""), HR_E_USAGE);
}

static void what_cannot_be_tuned_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "lr",          "=1,2",         "lr=1",          "lr=2:1",     "lr=0:1",
        "lr=1:2:1",    "lr=1:2:33",    "lr=1:2:3:4",    "lr=a:b",     "lr=1,1",
        "epochs=1,2",  "seed=1,2",     "model=mlp,cnn", "nobody=1,2", "lr=1,2;lr=3,4",
        "timeout=1:2", "normalize=0,1"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(axes_of(texts[i]), HR_E_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_range_has_both_ends_and_equal_ratios),
        cmocka_unit_test(whole_numbers_stay_whole_and_differ),
        cmocka_unit_test(lists_are_as_they_were_given),
        cmocka_unit_test(a_bare_one_has_rates_around_the_given_one_and_no_momentum),
        cmocka_unit_test(several_are_given_one_after_the_other),
        cmocka_unit_test(what_cannot_be_tuned_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
