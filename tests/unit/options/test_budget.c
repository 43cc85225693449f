/* --budget: what it takes, how it is written, and how long a run of it is. */
#include "options/budget.h"

#include <stdio.h>

#include "support/check.h"

static struct hr_train_options options_with(const char *budget)
{
    static struct hr_train_options options;
    hr_train_defaults(&options);
    snprintf(options.budget, sizeof options.budget, "%s", budget);
    return options;
}

static void a_budget_is_read_and_written_alike(void **state)
{
    (void)state;
    static const struct {
        const char *text, *written;
        enum hr_budget_unit unit;
        double amount;
    } row[] = {
        {"500Ksamples", "500Ksamples", HR_BUDGET_SAMPLES, 500000},
        {"1.5Msamples", "1.5Msamples", HR_BUDGET_SAMPLES, 1500000},
        {"14370samples", "14370samples", HR_BUDGET_SAMPLES, 14370},
        {"1sample", "1sample", HR_BUDGET_SAMPLES, 1},
        {"5000updates", "5Kupdates", HR_BUDGET_UPDATES, 5000},
        {"0.5Kupdates", "500updates", HR_BUDGET_UPDATES, 500},
        {"60s", "60s", HR_BUDGET_SECONDS, 60},
        {"5m", "300s", HR_BUDGET_SECONDS, 300},
        {"500ms", "0.5s", HR_BUDGET_SECONDS, 0.5},
        {"", "", HR_BUDGET_NONE, 0},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct hr_budget budget;
        assert_true(hr_budget_parse(row[i].text, &budget));
        assert_int_equal(budget.unit, row[i].unit);
        assert_true(budget.amount == row[i].amount);
        assert_string_equal(hr_budget_text(&budget).text, row[i].written);
    }
}

static void what_is_no_budget_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "60", "samples",    "0samples",  "-5samples",  "5ksamples", "5 samples",       "5Tsamples",
        "0s", "1e3samples", "5Kupdate!", "0.4samples", "inf",       "99999999Gsamples"};
    struct hr_budget budget;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const struct hr_train_options options = options_with(texts[i]);
        assert_false(hr_budget_parse(texts[i], &budget));
        assert_int_equal(hr_check_budget(&options), HR_E_USAGE);
    }
}

static void samples_end_with_the_step_that_reaches_them(void **state)
{
    (void)state;
    struct hr_train_options options = options_with("250samples");
    struct hr_run_length length = hr_run_length(&options, 100, 32); /* epochs of 4 steps */
    assert_int_equal(length.end, 2 * 4 + 2);
    assert_int_equal(length.begun, 3);
    assert_true(length.epochs == 2.64);
    options = options_with("10updates");
    length = hr_run_length(&options, 100, 32);
    assert_int_equal(length.end, 10);
    assert_true(length.epochs == 2.64);
    options = options_with("");
    options.epochs = 3;
    length = hr_run_length(&options, 100, 32);
    assert_int_equal(length.end, 12);
    assert_int_equal(length.begun, 3);
    assert_true(length.epochs == 3);
}

static void of_seconds_the_epochs_are_not_known(void **state)
{
    (void)state;
    struct hr_train_options options = options_with("60s");
    const struct hr_run_length length = hr_run_length(&options, 100, 32);
    assert_true(length.epochs == 0);
    assert_int_equal(length.end, 4 * (uint64_t)HR_BUDGET_EPOCHS);
    assert_int_equal(hr_run_length_check(&options, &length), HR_OK);
    assert_true(hr_run_seconds(&options) == 60);
    options.max_seconds = 20;
    assert_true(hr_run_seconds(&options) == 20);
    options.max_seconds = 100;
    assert_true(hr_run_seconds(&options) == 60);
    hr_run_forget_seconds(&options);
    assert_true(hr_run_seconds(&options) == 0);
    assert_int_equal(hr_run_length(&options, 100, 32).end, 4 * (uint64_t)HR_BUDGET_EPOCHS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_budget_is_read_and_written_alike),
        cmocka_unit_test(what_is_no_budget_is_refused),
        cmocka_unit_test(samples_end_with_the_step_that_reaches_them),
        cmocka_unit_test(of_seconds_the_epochs_are_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
