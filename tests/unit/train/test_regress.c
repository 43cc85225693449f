/* Regression: the rungs of the equivalence ladder hold for values as they do for classes, whatever
 * computes the gradients; and what is measured is in the targets' own units, added in one order. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/runs.h"
#include "support/scratch.h"

static int use_values(void **state)
{
    (void)state;
    run_on(run_values());
    return 0;
}

static struct hr_train_options options_of(const char *strategy, size_t workers, const char *loss)
{
    struct hr_train_options options = run_options(strategy, workers);
    snprintf(options.task, sizeof options.task, "regress");
    snprintf(options.loss, sizeof options.loss, "%s", loss);
    snprintf(options.model, sizeof options.model, "flatten, dense 11, relu, dense 2");
    options.huber_delta = 0.75;
    options.lr = 0.02;
    return options;
}

static const char *const losses[] = {"mse", "huber"};

static void one_worker_is_serial_whatever_the_strategy(void **state)
{
    (void)state;
    static const char *const all[] = {"allreduce", "ps-sync",   "ps-async", "ssp",
                                      "hogwild",   "local-sgd", "gossip",   "backup-workers"};
    for (size_t l = 0; l < 2; l++) {
        char serial[33];
        struct hr_train_options options = options_of("allreduce", 1, losses[l]);
        run_digest(&options, serial);
        for (size_t i = 1; i < sizeof all / sizeof *all; i++) {
            options = options_of(all[i], 1, losses[l]);
            options.backups = 0;
            CHECK_DIGEST(&options, serial);
        }
    }
}

static void everything_that_adds_in_tree_order_agrees(void **state)
{
    (void)state;
    char want[33];
    struct hr_train_options options = options_of("allreduce", 3, "huber");
    run_digest(&options, want);
    snprintf(options.algorithm, sizeof options.algorithm, "master-worker");
    CHECK_DIGEST(&options, want);
    options = options_of("ps-sync", 3, "huber");
    CHECK_DIGEST(&options, want);
    options.servers = 2;
    CHECK_DIGEST(&options, want);
    options = options_of("ssp", 3, "huber");
    options.staleness = 0;
    CHECK_DIGEST(&options, want);
    options = options_of("allreduce", 3, "huber");
    snprintf(options.clock, sizeof options.clock, "virtual");
    CHECK_DIGEST(&options, want);
}

static void repro_is_the_same_for_any_number_of_workers(void **state)
{
    (void)state;
    char want[33];
    struct hr_train_options options = options_of("allreduce", 1, "mse");
    snprintf(options.reduce, sizeof options.reduce, "repro");
    options.global_batch_size = 100;
    run_digest(&options, want);
    for (options.workers = 2; options.workers <= 8; options.workers *= 2)
        CHECK_DIGEST(&options, want);
}

/* The parts of an update are added as the shares of so many workers are. */
static void n_parts_have_the_bits_of_n_workers(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        char want[33];
        struct hr_train_options options = options_of("allreduce", 2 + i, losses[i % 2]);
        run_digest(&options, want);
        options.accumulate = options.workers;
        options.workers = 1;
        CHECK_DIGEST(&options, want);
    }
}

/* Each sample is learned, though whoever had it dies; and the replay has the same bits. */
static void lost_workers_cost_no_values(void **state)
{
    (void)state;
    static const char *const strategies[] = {"allreduce", "ps-async", "ps-sync"};
    size_t lost = 0;
    for (size_t i = 0; i < 6; i++) {
        struct hr_train_options options = options_of(strategies[i / 2], 3, losses[i % 2]);
        snprintf(options.on_loss, sizeof options.on_loss, i % 2 ? "restart" : "continue");
        snprintf(options.inject, sizeof options.inject, "kill:any@p=0.006x2");
        snprintf(options.schedule, sizeof options.schedule, "explore:%zu", i);
        options.max_restarts = 100;
        options.lr = i / 2 == 1 ? 0.02 : 0.1; /* stale gradients want a smaller one */
        scratch_stderr_begin();               /* a launcher says each loss */
        struct hr_run_result result = run_train(&options);
        run_check_replay(options);
        scratch_stderr_end();
        lost += result.nlosses;
        assert_int_equal(result.samples, options.epochs * run_values()->train.count);
        assert_true(result.test_fit.r2 > 0.2 && isnan(result.test_accuracy));
        hr_run_result_free(&result);
    }
    assert_true(lost > 3);
}

static void resumed_and_replayed_runs_end_with_the_same_bits(void **state)
{
    (void)state;
    char want[33];
    struct hr_train_options options = options_of("allreduce", 2, "huber");
    run_digest(&options, want);
    run_check_resume(options, 50, want);
    run_check_replay(options_of("ps-async", 3, "mse"));
    run_check_order(options_of("ssp", 3, "huber"));
}

/* Stages, and layers that are cut, have the loss at their end alone. */
static void pipelines_and_shards_learn_values(void **state)
{
    (void)state;
    char want[33];
    struct hr_train_options options = options_of("allreduce", 2, "mse");
    options.pipeline = 2;
    options.micro_batches = 1;
    run_digest(&options, want);
    options.pipeline = 0;
    options.micro_batches = 0;
    CHECK_DIGEST(&options, want);
    options.tensor_parallel = 2;
    struct hr_run_result result = run_train(&options);
    assert_true(result.test_fit.r2 > 0.4);
    hr_run_result_free(&result);
}

static void check_fit(const struct hr_fit *fit, const struct hr_fit *want)
{
    CHECK_NEAR(fit->rmse, want->rmse, 0, 0);
    CHECK_NEAR(fit->mae, want->mae, 0, 0);
    CHECK_NEAR(fit->r2, want->r2, 0, 0);
}

/* Blocks of samples are added in their order, whoever computed them. */
static void figures_do_not_depend_on_who_computes_them(void **state)
{
    (void)state;
    struct hr_train_options options = options_of("allreduce", 1, "mse");
    snprintf(options.reduce, sizeof options.reduce, "repro");
    options.global_batch_size = 100;
    options.lr = 0.1;
    struct hr_run_result one = run_train(&options);
    options.workers = 4;
    struct hr_run_result four = run_train(&options);
    assert_int_equal(one.targets, 2);
    assert_true(isnan(one.test_accuracy));
    check_fit(&four.test_fit, &one.test_fit);
    assert_int_equal(one.ncurve, 2);
    for (size_t i = 0; i < one.ncurve; i++)
        check_fit(&four.curve[i].fit, &one.curve[i].fit);
    /* Offsets of 1e9 lose nothing: the deviations are about 3 and 0.01. */
    assert_true(one.test_fit.r2 > 0.3 && one.test_fit.rmse < 3);
    hr_run_result_free(&one);
    hr_run_result_free(&four);
}

static void the_best_by_rmse_is_kept_and_the_target_is_noted(void **state)
{
    (void)state;
    struct hr_train_options options = options_of("allreduce", 2, "mse");
    snprintf(options.early_stop, sizeof options.early_stop, "rmse,5");
    options.validation_fraction = 0.2;
    options.target_rmse = 1e9;
    struct hr_run_result result = run_train(&options);
    assert_string_equal(result.best.metric, "rmse");
    CHECK_NEAR(result.best.value, fmin(result.curve[0].fit.rmse, result.curve[1].fit.rmse), 0, 0);
    CHECK_NEAR(result.validation_fit.rmse, result.best.value, 0, 0);
    CHECK_NEAR(result.target_seconds, result.curve[0].seconds, 0, 0);
    assert_true(result.test_fit.rmse > 0 && result.test_evaluations == 1);
    hr_run_result_free(&result);
    options.target_rmse = 1e-9;
    result = run_train(&options);
    assert_true(result.target_seconds < 0);
    hr_run_result_free(&result);
}

/* Nothing has been learned: the mean is predicted, and the loss of scaled targets is about 1. */
static void an_untrained_model_costs_about_the_variance(void **state)
{
    (void)state;
    struct hr_train_options options = options_of("allreduce", 1, "mse");
    options.max_steps = 1;
    options.lr = 1e-9;
    struct hr_run_result result = run_train(&options);
    assert_true(result.train_loss > 0.5 && result.train_loss < 2);
    assert_true(fabs(result.test_fit.r2) < 0.5);
    hr_run_result_free(&result);
}

static void refuses(struct hr_train_options options, const struct hr_dataset *dataset,
                    const char *text)
{
    struct hr_run_result result;
    CHECK_FAILS(hr_train(&options, dataset, NULL, &result), HR_E_USAGE);
    CHECK_MESSAGE(text);
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    struct hr_train_options options = options_of("allreduce", 1, "cross-entropy");
    refuses(options, run_values(), "is of classes");
    options = options_of("allreduce", 1, "mse");
    refuses(options, run_digits(), "were read as classes");
    snprintf(options.model, sizeof options.model, "flatten, dense 10");
    refuses(options, run_values(), "has 10 outputs, expected 2, the targets");
    options = options_of("allreduce", 1, "mse");
    snprintf(options.early_stop, sizeof options.early_stop, "accuracy,5");
    refuses(options, run_values(), "there is no accuracy where values are predicted");
    struct hr_dataset constant = *run_values();
    double values[4000] = {0};
    for (size_t i = 0; i < 4000; i++)
        values[i] = i % 2 ? 0.1 : (double)i;
    constant.targets.values = values;
    refuses(options_of("allreduce", 1, "mse"), &constant,
            "target 2, tilt is 0.1 in all 1438 training samples");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_worker_is_serial_whatever_the_strategy),
        cmocka_unit_test(everything_that_adds_in_tree_order_agrees),
        cmocka_unit_test(repro_is_the_same_for_any_number_of_workers),
        cmocka_unit_test(n_parts_have_the_bits_of_n_workers),
        cmocka_unit_test_setup_teardown(lost_workers_cost_no_values, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test(resumed_and_replayed_runs_end_with_the_same_bits),
        cmocka_unit_test(pipelines_and_shards_learn_values),
        cmocka_unit_test(figures_do_not_depend_on_who_computes_them),
        cmocka_unit_test(the_best_by_rmse_is_kept_and_the_target_is_noted),
        cmocka_unit_test(an_untrained_model_costs_about_the_variance),
        cmocka_unit_test(what_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, use_values, NULL);
}
