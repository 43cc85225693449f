/* What asynchrony makes of the step, and whom a diverged run blames. */
#include <math.h>
#include <stdio.h>

#include "options/choices.h"
#include "support/data_files.h"
#include "support/runs.h"
#include "train/dense_result.h"
#include "strategies/strategies.h"

/* 3 updates without staleness, one of staleness 4: 2 in flight. */
static void the_step_is_as_long_as_what_is_in_flight(void **state)
{
    (void)state;
    static struct hr_run run;
    static struct hr_run_result result;
    struct hr_train_options options = run_options("ps-async", 1);
    run.shared.options = &options;
    result.stale_updates = result.stale_sum = 4;
    result.stale[0] = 3;
    result.stale[4] = 1;
    CHECK_OK(hr_strategy_find("ps-async", 3, &run.shared.strategy));
    run.shared.optimizer.momentum = 0.5;
    run.shared.optimizer.beta1 = 0.75;
    CHECK_OK(hr_rule_find("sgd", &run.shared.optimizer.rule));
    struct hr_asynchrony a = hr_asynchrony_of(&run, &result, 0.25);
    CHECK_NEAR(a.effective_lr, 0.5, 0, 0);
    CHECK_NEAR(a.explicit_momentum, 0.5, 0, 0);
    CHECK_NEAR(a.implicit_momentum, 0.5, 0, 0);
    CHECK_NEAR(a.total_momentum, 0.75, 0, 0);
    CHECK_OK(hr_rule_find("adamw", &run.shared.optimizer.rule));
    run.shared.slows = true; /* three at 1/4, one at 1/20: 0.8 of them */
    a = hr_asynchrony_of(&run, &result, 0.25);
    CHECK_NEAR(a.effective_lr, 0.4, 1e-15, 0);
    CHECK_NEAR(a.total_momentum, 0.875, 0, 0);
    CHECK_OK(hr_strategy_find("elastic-averaging", 3, &run.shared.strategy));
    assert_true(isnan(hr_asynchrony_of(&run, &result, 0.25).effective_lr));
    CHECK_OK(hr_strategy_find("ps-async", 3, &run.shared.strategy));
    result.stale_updates = 0;
    result.stale_sum = 0;
    assert_true(isnan(hr_asynchrony_of(&run, &result, 0.25).effective_lr));
}

/* With N workers in strict turn staleness is N - 1, but for the first round; the prediction is that
 * of the paper, 1 - 1 / N. */
static void a_run_has_it_in_its_result(void **state)
{
    (void)state;
    struct hr_train_options options = run_options("ps-async", 1);
    struct hr_run_result result = run_train(&options);
    /* That of the mean rate: a cosine ends near 0. */
    assert_true(result.asynchrony.effective_lr > 0.3 * options.lr);
    assert_true(result.asynchrony.effective_lr > 2 * result.lr);
    CHECK_NEAR(result.asynchrony.implicit_momentum, 0, 0, 0);
    CHECK_NEAR(result.asynchrony.total_momentum, 0.9, 1e-15, 0);
    hr_run_result_free(&result);
    options.workers = 4;
    snprintf(options.schedule, sizeof options.schedule, "explore:1");
    result = run_train(&options);
    const double mean = (double)result.stale_sum / (double)result.stale_updates;
    CHECK_NEAR(result.asynchrony.implicit_momentum, 1 - 1 / (1 + mean), 1e-15, 0);
    assert_true(mean > 1 && mean < 4);
    hr_run_result_free(&result);
}

struct blame {
    const char *strategy, *async_lr, *message;
    size_t workers;
    double momentum;
};

static void a_diverged_run_says_what_to_change_first(void **state)
{
    (void)state;
    static const struct blame cases[] = {
        {"ps-async", "same", "try first: --momentum 0.", 4, 0.9},
        {"ps-async", "same", "try first: --async-lr divide", 4, 0.25},
        {"hogwild", "same", "momentum 0.00 like 0.", 4, 0},
        {"ps-async", "divide", "try first: a smaller --lr, or fewer", 4, 0.25},
        {"ps-async", "same", "try first: a smaller --lr", 1, 0.9},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hr_run_result result;
        struct hr_train_options options = run_options(cases[i].strategy, cases[i].workers);
        snprintf(options.schedule, sizeof options.schedule, "explore:1");
        snprintf(options.async_lr, sizeof options.async_lr, "%s", cases[i].async_lr);
        snprintf(options.lr_schedule, sizeof options.lr_schedule, "constant");
        options.momentum = cases[i].momentum;
        options.warmup_epochs = 0;
        options.lr = 1e6;
        options.epochs = 10;
        CHECK_FAILS(hr_train(&options, run_digits(), NULL, &result), HR_E_DIVERGED);
        CHECK_MESSAGE("staleness so far: p50 ");
        CHECK_MESSAGE(cases[i].message);
        assert_int_equal(result.stale_updates, 0);
    }
}

/* At random weights softmax regression costs ln 10 per sample, and a little more, at any rate: what
 * counts is what a worker computes before anybody has moved them. */
static void a_run_says_where_its_loss_began_and_what_would_cure_it(void **state)
{
    (void)state;
    static const char *const strategies[] = {"ps-sync", "ps-async", "hogwild", "local-sgd"};
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        struct hr_train_options options = run_options(strategies[i], 4);
        snprintf(options.schedule, sizeof options.schedule, "explore:1");
        options.batch_size = 16;
        options.max_steps = 40;
        options.lr = 20;
        struct hr_run_result result = run_train(&options);
        CHECK_NEAR(result.first_loss / (double)result.first_samples, log(10), 0.5, 0);
        assert_true(result.first_samples >= 16 && result.first_samples <= 64);
        assert_true(result.first_samples == 64 || i == 1 || i == 2); /* they share weights */
        assert_non_null(strstr(result.cure, i == 1 || i == 2 ? "--momentum 0." : "lr"));
        hr_run_result_free(&result);
    }
}

static void one_workers_loss_begins_before_its_first_update(void **state)
{
    (void)state;
    struct hr_train_options options = run_options("allreduce", 1);
    options.batch_size = 8;
    options.max_steps = 20;
    options.lr = 5;
    options.warmup_epochs = 0;
    struct hr_run_result result = run_train(&options);
    assert_int_equal(result.first_samples, 8);
    CHECK_NEAR(result.first_loss / 8, log(10), 1, 0);
    hr_run_result_free(&result);
}

static void a_synchronous_run_blames_no_asynchrony(void **state)
{
    (void)state;
    struct hr_run_result result;
    struct hr_train_options options = run_options("ps-sync", 2);
    options.lr = 1e6;
    options.warmup_epochs = 0;
    options.epochs = 10;
    CHECK_FAILS(hr_train(&options, run_digits(), NULL, &result), HR_E_DIVERGED);
    assert_null(strstr(hr_error_message(), "staleness"));
}

/* Samples so large that the losses just fit into a float, and the sum of two gradients does not. */
static void a_gradient_that_is_not_finite_is_not_pushed(void **state)
{
    (void)state;
    static const char *const strategies[] = {"ps-async", "hogwild"};
    char text[4096] = "a,b,y\n";
    for (size_t i = 0; i < 64; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s3e38,1,%zu\n",
                 i % 2 ? "-" : "", i % 2);
    data_text("large.csv", text);
    struct hr_dataset data = data_open("large.csv", NULL);
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        struct hr_run_result result;
        struct hr_train_options options = run_options(strategies[i], 2);
        snprintf(options.model, sizeof options.model, "softmax");
        snprintf(options.schedule, sizeof options.schedule, "explore:1");
        options.batch_size = 8;
        CHECK_FAILS(hr_train(&options, &data, NULL, &result), HR_E_DIVERGED);
        CHECK_MESSAGE("rank ");
        CHECK_MESSAGE("step ");
        CHECK_MESSAGE("the gradient is not finite, though the loss is");
        CHECK_MESSAGE("in epoch 1, samples ");
    }
    hr_dataset_close(&data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_step_is_as_long_as_what_is_in_flight),
        cmocka_unit_test(a_run_has_it_in_its_result),
        cmocka_unit_test(a_diverged_run_says_what_to_change_first),
        cmocka_unit_test_setup_teardown(a_gradient_that_is_not_finite_is_not_pushed, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test(a_run_says_where_its_loss_began_and_what_would_cure_it),
        cmocka_unit_test(one_workers_loss_begins_before_its_first_update),
        cmocka_unit_test(a_synchronous_run_blames_no_asynchrony),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
