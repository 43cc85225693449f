/* While a run trains it measures the validation split; the test set is read once, at the end. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hogring/evaluate.h"
#include "support/runs.h"

static const char *const all[] = {"allreduce", "ps-sync",   "ps-async",          "ssp",
                                  "hogwild",   "local-sgd", "elastic-averaging", "backup-workers",
                                  "gossip"};
enum { NALL = sizeof all / sizeof *all };

static struct hr_train_options validating(const char *strategy, size_t workers)
{
    struct hr_train_options options = run_options(strategy, workers);
    options.validation_fraction = 0.2;
    return options;
}

/* The digits with other labels in the test set. */
static struct hr_dataset mislabelled(uint32_t **labels)
{
    struct hr_dataset other = *run_digits();
    *labels = malloc(other.test.count * sizeof **labels);
    for (size_t i = 0; i < other.test.count; i++)
        (*labels)[i] = (other.test.labels[i] + 1) % 10;
    other.test.labels = *labels;
    return other;
}

static void what_the_test_set_holds_changes_its_figures_alone(void **state)
{
    (void)state;
    uint32_t *labels;
    const struct hr_dataset other = mislabelled(&labels);
    const struct hr_train_options options = validating("allreduce", 2);
    struct hr_run_result a = run_train(&options), b;
    CHECK_OK(hr_train(&options, &other, NULL, &b));
    assert_string_equal(a.weights_digest, b.weights_digest);
    assert_int_equal(a.ncurve, b.ncurve);
    for (size_t i = 0; i < a.ncurve; i++) {
        assert_true(a.curve[i].validated && isnan(a.curve[i].test_loss));
        assert_true(a.curve[i].validation_loss == b.curve[i].validation_loss);
    }
    assert_true(a.test_loss < b.test_loss && a.test_accuracy > b.test_accuracy);
    assert_int_equal(a.test_evaluations, 1);
    free(labels);
    hr_run_result_free(&a);
    hr_run_result_free(&b);
}

/* At a rate of 0 the weights stay what they were, but for the rounding of averages, so only other
 * samples could make a difference. */
static void all_strategies_and_any_workers_validate_on_the_same_samples(void **state)
{
    (void)state;
    double want = NAN;
    for (size_t i = 0; i < NALL; i++)
        for (size_t workers = 1; workers <= 3; workers++) {
            struct hr_train_options options = validating(all[i], workers);
            options.lr = 0;
            options.epochs = 1;
            options.backups = 0;
            struct hr_run_result result = run_train(&options);
            want = isnan(want) ? result.validation_loss : want;
            CHECK_NEAR(result.validation_loss, want, 1e-6, 0);
            assert_int_equal(result.validation_samples, 288); /* of 1,438 */
            hr_run_result_free(&result);
        }
}

/* Whoever evaluates the final weights: the same blocks, in the same order. */
static void the_test_at_the_end_is_that_of_the_last_checkpoint(void **state)
{
    (void)state;
    char folder[64];
    for (size_t i = 0; i < NALL; i++) {
        struct hr_train_options options = validating(all[i], 2);
        struct hr_evaluation evaluation;
        run_folder_make(folder);
        snprintf(options.checkpoint_dir, sizeof options.checkpoint_dir, "%s", folder);
        struct hr_run_result result = run_train(&options);
        CHECK_OK(hr_evaluate_checkpoint(folder, NULL, run_digits(), &evaluation));
        assert_true(evaluation.test_loss == result.test_loss);
        assert_true(evaluation.test_accuracy == result.test_accuracy);
        assert_int_equal(result.test_evaluations, 1);
        hr_evaluation_free(&evaluation);
        hr_run_result_free(&result);
        run_folder_remove(folder);
    }
}

static int stop_at_once(void *arg)
{
    (void)arg;
    return 1;
}

static void an_interrupted_run_leaves_the_test_set_to_the_one_that_goes_on(void **state)
{
    (void)state;
    char folder[64];
    const struct hr_observer impatient = {.should_stop = stop_at_once};
    struct hr_train_options options = validating("allreduce", 2);
    struct hr_run_result whole = run_train(&options), part, rest;
    run_folder_make(folder);
    snprintf(options.checkpoint_dir, sizeof options.checkpoint_dir, "%s", folder);
    snprintf(options.compute_time, sizeof options.compute_time, "20ms"); /* longer than a tick */
    CHECK_OK(hr_train(&options, run_digits(), &impatient, &part));
    options.compute_time[0] = 0;
    assert_true(part.interrupted && isnan(part.test_loss) && part.test_evaluations == 0);
    hr_run_result_free(&part);
    snprintf(options.resume, sizeof options.resume, "%s", folder);
    rest = run_train(&options);
    assert_string_equal(rest.weights_digest, whole.weights_digest);
    assert_true(rest.test_loss == whole.test_loss && rest.test_evaluations == 1);
    assert_int_equal(rest.ncurve, whole.ncurve);
    options.validation_fraction = 0.1;
    CHECK_FAILS(hr_train(&options, run_digits(), NULL, &part), HR_E_USAGE);
    assert_non_null(strstr(hr_error_message(), "--validation 0.2, this run has 0.1"));
    run_folder_remove(folder);
    hr_run_result_free(&whole);
    hr_run_result_free(&rest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_test_set_holds_changes_its_figures_alone),
        cmocka_unit_test(all_strategies_and_any_workers_validate_on_the_same_samples),
        cmocka_unit_test(the_test_at_the_end_is_that_of_the_last_checkpoint),
        cmocka_unit_test(an_interrupted_run_leaves_the_test_set_to_the_one_that_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
