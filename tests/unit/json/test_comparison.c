/* What JSON says of a comparison is what the table and the verdict say. */
#include "json/documents.h"

#include <math.h>

#include "support/verdicts.h"

static double number(const json_t *object, const char *name, const char *figure)
{
    return json_number_value(json_object_get(json_object_get(object, name), figure));
}

/* Values are compared by their error. */
static void the_least_rmse_is_the_best(void **state)
{
    (void)state;
    struct hr_run_result runs[6];
    fill(runs, "allreduce", 0.90, 0.01);
    fill(runs + 3, "hogwild", 0.93, 0.01);
    for (size_t i = 0; i < 6; i++) {
        runs[i].targets = 2;
        runs[i].test_fit = (struct hr_fit){.rmse = runs[i].test_accuracy, .mae = 0.5, .r2 = 0.75};
        runs[i].test_accuracy = NAN;
    }
    json_t *comparison = hr_json_comparison(runs, 6, (struct hr_verdict_request){0});
    assert_string_equal(json_string_value(json_object_get(comparison, "metric")), "rmse");
    assert_string_equal(json_string_value(json_object_get(comparison, "best")), "allreduce direct");
    const json_t *row = json_array_get(json_object_get(comparison, "strategies"), 0);
    CHECK_NEAR(number(row, "test_rmse", "mean"), 0.90, 1e-12, 0);
    CHECK_NEAR(number(row, "test_mae", "mean"), 0.5, 1e-12, 0);
    CHECK_NEAR(number(row, "test_r2", "mean"), 0.75, 1e-12, 0);
    json_decref(comparison);
}

/* As the verdict says it, but in samples, whatever is trained on. */
static void unequal_speeds_are_told(void **state)
{
    (void)state;
    struct hr_run_result runs[6];
    fill(runs, "allreduce", 0.90, 0.01);
    fill(runs + 3, "hogwild", 0.93, 0.01);
    for (size_t i = 0; i < 6; i++)
        runs[i].tokens = 100;
    runs[5].samples_per_s = runs[3].samples_per_s / 2;
    json_t *comparison = hr_json_comparison(runs, 6, (struct hr_verdict_request){0});
    const json_t *row = json_array_get(json_object_get(comparison, "strategies"), 0);
    const json_t *uneven = json_object_get(comparison, "uneven_speed");
    CHECK_NEAR(number(row, "tokens_per_s", "mean"), 980000, 1e-9, 0);
    assert_string_equal(json_string_value(json_object_get(uneven, "label")), "hogwild");
    CHECK_NEAR(json_number_value(json_object_get(uneven, "first_samples_per_s")), 9800, 0, 0);
    CHECK_NEAR(json_number_value(json_object_get(uneven, "last_samples_per_s")), 4900, 0, 0);
    json_decref(comparison);
}

static void strategies_have_means_and_their_distance_to_the_best(void **state)
{
    (void)state;
    struct hr_run_result runs[6];
    fill(runs, "allreduce", 0.90, 0.01);
    fill(runs + 3, "hogwild", 0.952, 0.01);
    json_t *comparison = hr_json_comparison(runs, 6, (struct hr_verdict_request){0});
    assert_string_equal(json_string_value(json_object_get(comparison, "best")), "hogwild");
    assert_string_equal(json_string_value(json_object_get(comparison, "metric")), "accuracy");
    const json_t *rows = json_object_get(comparison, "strategies");
    assert_int_equal(json_array_size(rows), 2);
    const json_t *worse = json_array_get(rows, 0), *best = json_array_get(rows, 1);
    assert_int_equal(json_object_size(worse), 23);
    assert_true(json_is_null(json_object_get(worse, "tokens_per_s")));
    assert_true(json_is_null(json_object_get(comparison, "uneven_speed")));
    assert_string_equal(json_string_value(json_object_get(worse, "label")), "allreduce direct");
    assert_string_equal(json_string_value(json_object_get(worse, "strategy")), "allreduce");
    assert_int_equal(json_integer_value(json_object_get(worse, "seeds")), 3);
    assert_true(json_is_false(json_object_get(worse, "interrupted")));
    CHECK_NEAR(number(worse, "test_accuracy", "mean"), 0.90, 1e-12, 0);
    CHECK_NEAR(number(worse, "test_accuracy", "sd"), 0.01, 1e-12, 0);
    CHECK_NEAR(number(worse, "test_accuracy", "min"), 0.89, 1e-12, 0);
    CHECK_NEAR(number(worse, "test_accuracy", "max"), 0.91, 1e-12, 0);
    CHECK_NEAR(number(worse, "samples_per_s", "mean"), 9800, 1e-9, 0);
    /* differences -0.062, -0.032, -0.062: scipy's ttest_1samp */
    CHECK_NEAR(json_number_value(json_object_get(worse, "p_against_best")), 0.0350495, 0, 1e-6);
    assert_true(json_is_true(json_object_get(worse, "worse_than_best")));
    assert_true(json_is_null(json_object_get(best, "p_against_best")));
    assert_true(json_is_false(json_object_get(best, "worse_than_best")));
    const json_t *pairs = json_object_get(comparison, "pairs"), *pair = json_array_get(pairs, 0);
    assert_int_equal(json_array_size(pairs), 1);
    assert_string_equal(json_string_value(json_object_get(pair, "a")), "allreduce direct");
    assert_string_equal(json_string_value(json_object_get(pair, "b")), "hogwild");
    CHECK_NEAR(json_number_value(json_object_get(pair, "difference")), -0.052, 1e-12, 0);
    CHECK_NEAR(json_number_value(json_object_get(pair, "p")), 0.0350495, 0, 1e-6);
    CHECK_NEAR(json_number_value(json_object_get(pair, "difference")),
               json_number_value(json_object_get(
                   json_array_get(json_object_get(comparison, "comparisons"), 0), "difference")),
               0, 0);
    assert_true(json_is_true(json_object_get(pair, "told_apart")));
    const json_t *tests = json_object_get(comparison, "comparisons"),
                 *test = json_array_get(tests, 0);
    const json_t *interval = json_object_get(test, "interval");
    assert_int_equal(json_array_size(tests), 1);
    assert_string_equal(json_string_value(json_object_get(test, "metric")), "accuracy");
    assert_string_equal(json_string_value(json_object_get(test, "method")), "paired t");
    assert_string_equal(json_string_value(json_object_get(test, "verdict")), "worse");
    assert_int_equal(json_integer_value(json_object_get(test, "n")), 3);
    CHECK_NEAR(json_number_value(json_array_get(interval, 0)), -0.0950265, 0, 1e-6);
    CHECK_NEAR(json_number_value(json_array_get(interval, 1)), -0.0089735, 0, 1e-6);
    CHECK_NEAR(number(test, "effect", "value"), -1.69382, 0, 1e-4); /* 0.5642 x 3.0022 */
    assert_true(json_is_null(json_object_get(test, "margin")));
    CHECK_NEAR(number(comparison, "power", "spread"), sqrt(3) / 100, 1e-9, 0);
    CHECK_NEAR(number(comparison, "power", "difference"), 3.26404355 * sqrt(3) / 100, 1e-6, 0);
    json_decref(comparison);
}

/* What a margin and a target add, and identical weights leave out. */
static void margins_targets_and_twins_are_told(void **state)
{
    (void)state;
    struct hr_run_result runs[6];
    fill(runs, "allreduce", 0.90, 0.0001);
    fill(runs + 3, "hogwild", 0.901, 0.0001);
    const struct hr_verdict_request request = {.margin = 0.5, .target = {HR_METRIC_ACCURACY, 0.8}};
    json_t *comparison = hr_json_comparison(runs, 6, request);
    const json_t *tests = json_object_get(comparison, "comparisons"),
                 *test = json_array_get(tests, 0);
    assert_int_equal(json_array_size(tests), 3);
    CHECK_NEAR(json_number_value(json_object_get(comparison, "margin")), 0.005, 1e-12, 0);
    assert_string_equal(json_string_value(json_object_get(test, "verdict")), "worse, equal within");
    assert_true(number(test, "margin", "a_not_worse_p") < 0.05);
    test = json_array_get(tests, 1);
    assert_string_equal(json_string_value(json_object_get(test, "metric")), "target_seconds");
    assert_string_equal(json_string_value(json_object_get(test, "method")), "signs");
    assert_string_equal(json_string_value(json_object_get(test, "verdict")), "not told");
    json_decref(comparison);
    for (size_t i = 0; i < 6; i++)
        snprintf(runs[i].weights_digest, sizeof runs[i].weights_digest, "%zu", i % 3);
    comparison = hr_json_comparison(runs, 6, (struct hr_verdict_request){0});
    test = json_array_get(json_object_get(comparison, "comparisons"), 0);
    assert_string_equal(json_string_value(json_object_get(test, "verdict")), "identical");
    assert_true(json_is_null(json_object_get(test, "p")));
    assert_true(json_is_null(json_object_get(comparison, "power")));
    json_decref(comparison);
}

static void runs_that_lost_ranks_are_counted_and_compared(void **state)
{
    (void)state;
    struct hr_run_result runs[6];
    struct hr_loss lost = {.rank = 1};
    fill(runs, "allreduce", 0.90, 0.01);
    fill(runs + 3, "hogwild", 0.93, 0.01);
    for (size_t first = 0; first < 2; first++) { /* one run; then all */
        for (size_t i = 0; i < 6; i++)
            if (first == 1 || i == 4)
                runs[i].losses = &lost, runs[i].nlosses = 1;
        json_t *comparison = hr_json_comparison(runs, 6, (struct hr_verdict_request){0});
        const json_t *rows = json_object_get(comparison, "strategies");
        const json_t *hogwild = json_array_get(rows, 1);
        assert_int_equal(json_is_true(json_object_get(comparison, "lost_alike")), first == 1);
        assert_int_equal(json_integer_value(json_object_get(hogwild, "runs_with_losses")),
                         first == 1 ? 3 : 1);
        json_decref(comparison);
    }
}

static void it_says_which_weights_are_compared(void **state)
{
    (void)state;
    static const char *const want[] = {"last", "mixed", "best"};
    struct hr_run_result runs[6];
    fill(runs, "allreduce", 0.94, 0.01);
    fill(runs + 3, "hogwild", 0.93, 0.01);
    for (size_t w = 0; w < 3; w++) {
        for (size_t i = 0; i < 3 * w; i++)
            runs[i].best.restored = true;
        json_t *comparison = hr_json_comparison(runs, 6, (struct hr_verdict_request){0});
        assert_string_equal(json_string_value(json_object_get(comparison, "compared_at")), want[w]);
        json_decref(comparison);
    }
}

static void one_seed_is_not_judged(void **state)
{
    (void)state;
    struct hr_run_result runs[] = {sample_run("allreduce", 1, 0.9), sample_run("ssp", 1, 0.1)};
    json_t *comparison = hr_json_comparison(runs, 2, (struct hr_verdict_request){0});
    assert_true(json_is_null(json_object_get(comparison, "best")));
    const json_t *rows = json_object_get(comparison, "strategies");
    for (size_t i = 0; i < 2; i++) {
        const json_t *row = json_array_get(rows, i);
        assert_true(json_is_null(json_object_get(row, "p_against_best")));
        assert_true(json_is_false(json_object_get(row, "worse_than_best")));
    }
    json_decref(comparison);
}

static void one_strategy_is_no_comparison(void **state)
{
    (void)state;
    struct hr_run_result runs[3];
    fill(runs, "ssp", 0.9, 0.01);
    json_t *comparison = hr_json_comparison(runs, 3, (struct hr_verdict_request){0});
    assert_true(json_is_null(comparison));
    json_decref(comparison);
    comparison = hr_json_comparison(NULL, 0, (struct hr_verdict_request){0});
    assert_true(json_is_null(comparison));
    json_decref(comparison);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_rmse_is_the_best),
        cmocka_unit_test(unequal_speeds_are_told),
        cmocka_unit_test(strategies_have_means_and_their_distance_to_the_best),
        cmocka_unit_test(margins_targets_and_twins_are_told),
        cmocka_unit_test(runs_that_lost_ranks_are_counted_and_compared),
        cmocka_unit_test(it_says_which_weights_are_compared),
        cmocka_unit_test(one_seed_is_not_judged),
        cmocka_unit_test(one_strategy_is_no_comparison),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
