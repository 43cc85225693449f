/* Metrics: names, which way is better, whom they are of, and how people read them. */
#include "options/metric.h"

#include <math.h>

#include "support/check.h"

static const struct hr_curve_point classes = {
    .test_loss = 0.5, .test_accuracy = 0.75, .fit = {.macro_f1 = 0.5}};
static const struct hr_curve_point values = {.test_loss = 0.5,
                                             .test_accuracy = NAN,
                                             .values = true,
                                             .fit = {.rmse = 3, .mae = 2, .r2 = 0.25}};

static void a_name_finds_its_metric(void **state)
{
    (void)state;
    enum hr_metric metric;
    for (size_t m = 0; m < HR_METRICS; m++) {
        assert_true(hr_metric_parse(hr_metric_kind((enum hr_metric)m)->name, &metric));
        assert_int_equal(metric, m);
    }
    assert_false(hr_metric_parse("RMSE", &metric));
    assert_false(hr_metric_parse("", &metric));
}

static void errors_are_better_when_less_and_r2_when_more(void **state)
{
    (void)state;
    assert_true(hr_metric_better(HR_METRIC_RMSE, 1, 2, 0));
    assert_true(hr_metric_better(HR_METRIC_MAE, 1, 2, 0));
    assert_true(hr_metric_better(HR_METRIC_LOSS, 1, 2, 0));
    assert_true(hr_metric_better(HR_METRIC_R2, 2, 1, 0));
    assert_true(hr_metric_better(HR_METRIC_ACCURACY, 2, 1, 0));
    assert_false(hr_metric_better(HR_METRIC_RMSE, 1, 2, 1));
    assert_false(hr_metric_better(HR_METRIC_RMSE, 1, NAN, 0));
    assert_false(hr_metric_better(HR_METRIC_R2, NAN, 1, 0));
}

static void what_was_not_measured_is_no_number(void **state)
{
    (void)state;
    assert_true(isnan(hr_metric_at(HR_METRIC_RMSE, &classes)));
    assert_true(isnan(hr_metric_at(HR_METRIC_ACCURACY, &values)));
    assert_true(isnan(hr_metric_at(HR_METRIC_MACRO_F1, &values)));
    CHECK_NEAR(hr_metric_at(HR_METRIC_MACRO_F1, &classes), 0.5, 0, 0);
    CHECK_NEAR(hr_metric_at(HR_METRIC_ACCURACY, &classes), 0.75, 0, 0);
    CHECK_NEAR(hr_metric_at(HR_METRIC_RMSE, &values), 3, 0, 0);
    CHECK_NEAR(hr_metric_at(HR_METRIC_MAE, &values), 2, 0, 0);
    CHECK_NEAR(hr_metric_at(HR_METRIC_R2, &values), 0.25, 0, 0);
}

static void a_run_without_validation_has_no_figures_of_one(void **state)
{
    (void)state;
    const struct hr_run_result run = {
        .targets = 1, .test_loss = 0.5, .test_fit = {.rmse = 3}, .validation_fit = {.rmse = 1}};
    assert_int_equal(hr_metric_of_run(&run), HR_METRIC_RMSE);
    CHECK_NEAR(hr_metric_of_test(HR_METRIC_RMSE, &run), 3, 0, 0);
    assert_true(isnan(hr_metric_of_validation(HR_METRIC_RMSE, &run)));
}

static void people_read_shares_as_percent_and_errors_as_they_are(void **state)
{
    (void)state;
    assert_string_equal(hr_metric_text(HR_METRIC_ACCURACY, 0.9651).text, "96.51 %");
    assert_string_equal(hr_metric_text(HR_METRIC_RMSE, 54.25).text, "54.2500");
    assert_string_equal(hr_metric_text(HR_METRIC_RMSE, 1234567).text, "1.235e+06");
    assert_string_equal(hr_metric_text(HR_METRIC_RMSE, 0.000123).text, "0.000123");
    assert_string_equal(hr_target_text(HR_METRIC_ACCURACY, 0.97).text, "97 %");
    assert_string_equal(hr_target_text(HR_METRIC_RMSE, 3.5).text, "rmse 3.5");
}

static bool fits(const char *text, size_t n)
{
    struct hr_early_stop rule;
    CHECK_OK(hr_keep_best_parse(text, &rule));
    return hr_early_stop_fits(&rule, "keep best", n ? HR_OF_CLASSES : HR_OF_VALUES, n) == HR_OK;
}

static void a_rule_is_of_values_of_classes_or_of_two(void **state)
{
    (void)state;
    assert_true(fits("loss", 0) && fits("loss", 2) && fits("r2", 0) && !fits("r2", 3));
    assert_true(fits("balanced", 3) && !fits("balanced", 0));
    assert_true(fits("roc_auc", 2) && !fits("roc_auc", 3) && !fits("roc_auc", 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_finds_its_metric),
        cmocka_unit_test(errors_are_better_when_less_and_r2_when_more),
        cmocka_unit_test(what_was_not_measured_is_no_number),
        cmocka_unit_test(a_run_without_validation_has_no_figures_of_one),
        cmocka_unit_test(a_rule_is_of_values_of_classes_or_of_two),
        cmocka_unit_test(people_read_shares_as_percent_and_errors_as_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
