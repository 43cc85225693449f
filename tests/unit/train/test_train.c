/* What every run promises: exact cover, evaluation that knows no workers, exact resume,
 * clean ends. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hogring/evaluate.h"
#include "hogring/checkpoint.h"
#include "support/runs.h"

static const char *const all[] = {"allreduce", "ps-sync", "ps-async",
                                  "ssp",       "hogwild", "local-sgd"};

enum { NSTRATEGIES = sizeof all / sizeof *all };

static void each_sample_is_trained_on_once_an_epoch(void **state)
{
    (void)state;
    static const size_t workers[] = {1, 2, 3, 7};
    for (size_t i = 0; i < NSTRATEGIES; i++)
        for (size_t w = 0; w < sizeof workers / sizeof *workers; w++) {
            struct hr_train_options options = run_options(all[i], workers[w]);
            struct hr_run_result result = run_train(&options);
            assert_int_equal(result.samples, 2 * run_digits()->train.count);
            assert_int_equal(result.ncurve, 2);
            assert_int_equal(result.curve[0].samples, run_digits()->train.count);
            hr_run_result_free(&result);
        }
}

static void updates_are_one_a_step_or_one_a_minibatch(void **state)
{
    (void)state;
    const size_t samples = run_digits()->train.count;
    for (size_t i = 0; i < NSTRATEGIES; i++) {
        struct hr_train_options options = run_options(all[i], 3);
        struct hr_run_result result = run_train(&options);
        const size_t batch = i < 2 || i > 4 ? 48 : 16; /* global, or one worker's */
        assert_int_equal(result.updates, 2 * ((samples + batch - 1) / batch));
        assert_int_equal(result.steps, result.updates);
        hr_run_result_free(&result);
    }
}

static void an_epoch_is_as_many_samples_as_asked(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 100, 1437, 1439, 4000};
    for (size_t i = 0; i < NSTRATEGIES; i++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            struct hr_train_options options = run_options(all[i], 3);
            options.epoch_size = sizes[s];
            struct hr_run_result result = run_train(&options);
            assert_int_equal(result.ncurve, 2);
            assert_int_equal(result.curve[0].samples, sizes[s]);
            assert_int_equal(result.curve[1].samples, 2 * sizes[s]);
            CHECK_NEAR(result.curve[1].epoch, 2, 0, 0);
            hr_run_result_free(&result);
        }
}

static void epochs_of_the_size_of_the_data_change_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < NSTRATEGIES; i++) {
        char want[33];
        struct hr_train_options options = run_options(all[i], i < 2 ? 3 : 1);
        run_digest(&options, want);
        options.epoch_size = run_digits()->train.count;
        CHECK_DIGEST(&options, want);
    }
}

/* Learning rate 0: the losses of two first batches differ only if the batches do. */
static void each_epoch_has_an_order_of_its_own(void **state)
{
    (void)state;
    const size_t steps = (run_digits()->train.count + 31) / 32;
    struct hr_train_options options = run_options("allreduce", 2);
    options.lr = 0;
    options.max_steps = 1;
    struct hr_run_result first = run_train(&options);
    options.max_steps = steps + 1;
    struct hr_run_result second = run_train(&options);
    assert_int_equal(second.ncurve, 2);
    assert_true(first.train_loss > 2 && second.train_loss > 2);
    assert_true(first.train_loss != second.train_loss);
    hr_run_result_free(&first);
    hr_run_result_free(&second);
}

static void computing_is_forward_backward_and_updating(void **state)
{
    (void)state;
    static const char *const strategies[] = {"allreduce", "ssp", "hogwild", "local-sgd"};
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        const struct hr_train_options options = run_options(strategies[i], 2);
        struct hr_run_result result = run_train(&options);
        assert_true(result.forward_s > 0 && result.backward_s > 0);
        assert_true(result.forward_s + result.backward_s <= result.compute_s);
        hr_run_result_free(&result);
    }
}

/* Learning rate 0: the weights are the initial ones, so only the evaluation is compared. */
static void evaluation_has_the_same_bits_for_any_number_of_workers(void **state)
{
    (void)state;
    double loss = 0, accuracy = 0;
    for (size_t workers = 1; workers <= 8; workers++) {
        struct hr_train_options options = run_options("allreduce", workers);
        options.lr = 0;
        options.max_steps = 1;
        struct hr_run_result result = run_train(&options);
        if (workers == 1) {
            loss = result.test_loss;
            accuracy = result.test_accuracy;
        }
        assert_memory_equal(&result.test_loss, &loss, sizeof loss);
        assert_memory_equal(&result.test_accuracy, &accuracy, sizeof accuracy);
        hr_run_result_free(&result);
    }
    assert_true(loss > 2 && loss < 3); /* about log 10 */
}

/* The 30 steps of one epoch end at step 30; 29 and 31 are its neighbours. */
static void resumed_is_never_stopped(void **state)
{
    (void)state;
    static const uint64_t steps[] = {1, 7, 29, 30, 31};
    for (size_t i = 0; i < NSTRATEGIES; i++) {
        char want[33];
        const size_t workers = i < 2 ? 3 : 1; /* asynchronous runs repeat with one worker */
        struct hr_train_options options = run_options(all[i], workers);
        run_digest(&options, want);
        for (size_t k = 0; k < sizeof steps / sizeof *steps; k++)
            run_check_resume(options, steps[k], want);
    }
}

/* 500 samples are 11 steps of 48; the data end in the third epoch. */
static void resumed_is_never_stopped_in_virtual_epochs(void **state)
{
    (void)state;
    static const uint64_t steps[] = {3, 11, 32, 33};
    char want[33];
    struct hr_train_options options = run_options("allreduce", 3);
    options.epoch_size = 500;
    options.epochs = 4;
    run_digest(&options, want);
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++)
        run_check_resume(options, steps[k], want);
}

/* From 2 epochs of 480 to epochs of 720: 960 samples are one and a third; 1440 - 960 are left. */
static void a_resumed_run_may_have_epochs_of_another_size(void **state)
{
    (void)state;
    char folder[64];
    run_folder_make(folder);
    struct hr_train_options options = run_options("allreduce", 3);
    options.epoch_size = 480;
    snprintf(options.checkpoint_dir, sizeof options.checkpoint_dir, "%s", folder);
    struct hr_run_result result = run_train(&options);
    hr_run_result_free(&result);
    options.epoch_size = 720;
    snprintf(options.resume, sizeof options.resume, "%s", folder);
    result = run_train(&options);
    assert_int_equal(result.samples, 480);
    assert_int_equal(result.steps, 30);
    hr_run_result_free(&result);
    run_folder_remove(folder);
}

/* Step 30 ends an epoch: its loss is told, and no part of the next one's. Step 31 does not. */
static void the_training_loss_of_an_epoch_is_its_own_after_resuming(void **state)
{
    (void)state;
    struct hr_train_options options = run_options("allreduce", 3);
    struct hr_run_result whole = run_train(&options);
    for (uint64_t k = 30; k <= 31; k++) {
        char folder[64];
        run_folder_make(folder);
        options = run_options("allreduce", 3);
        snprintf(options.checkpoint_dir, sizeof options.checkpoint_dir, "%s", folder);
        options.max_steps = k;
        struct hr_run_result result = run_train(&options);
        hr_run_result_free(&result);
        snprintf(options.resume, sizeof options.resume, "%s", folder);
        options.max_steps = 0;
        result = run_train(&options);
        CHECK_NEAR(result.train_loss, whole.train_loss, 1e-12, 0);
        hr_run_result_free(&result);
        run_folder_remove(folder);
    }
    hr_run_result_free(&whole);
}

static void saving_on_the_way_changes_nothing(void **state)
{
    (void)state;
    char folder[64], want[33];
    struct hr_train_options options = run_options("allreduce", 3);
    run_digest(&options, want);
    run_folder_make(folder);
    snprintf(options.checkpoint_dir, sizeof options.checkpoint_dir, "%s", folder);
    options.checkpoint_every.steps = 7;
    CHECK_DIGEST(&options, want);
    run_folder_remove(folder);
}

static void a_resumed_run_may_have_other_workers(void **state)
{
    (void)state;
    char folder[64];
    run_folder_make(folder);
    struct hr_train_options options = run_options("allreduce", 3);
    options.batch_size = 24; /* 72 per step */
    options.max_steps = 2;   /* 144 samples */
    snprintf(options.checkpoint_dir, sizeof options.checkpoint_dir, "%s", folder);
    struct hr_run_result result = run_train(&options);
    hr_run_result_free(&result);
    options.workers = 2; /* 48 per step: 144 is a multiple */
    options.max_steps = 0;
    snprintf(options.resume, sizeof options.resume, "%s", folder);
    result = run_train(&options);
    assert_int_equal(result.samples, 2 * run_digits()->train.count - 144);
    hr_run_result_free(&result);
    options.batch_size = 40; /* 80 per step: 144 is none */
    CHECK_FAILS(hr_train(&options, run_digits(), NULL, &result), HR_E_USAGE);
    run_folder_remove(folder);
}

/* 2 epochs of 90 steps; then with three workers, whose steps are fewer, a third, and a fourth. */
static void the_newest_checkpoint_has_the_most_steps_whatever_their_size(void **state)
{
    (void)state;
    char folder[64];
    run_folder_make(folder);
    struct hr_train_options options = run_options("allreduce", 1);
    snprintf(options.checkpoint_dir, sizeof options.checkpoint_dir, "%s", folder);
    for (size_t run = 0; run < 3; run++) {
        struct hr_run_result result = run_train(&options);
        assert_int_equal(result.steps, 180 + 30 * run);
        assert_int_equal(result.ncurve, options.epochs); /* those before, too */
        hr_run_result_free(&result);
        snprintf(options.resume, sizeof options.resume, "%s", folder);
        options.workers = 3;
        options.epochs++;
    }
    run_folder_remove(folder);
}

static void divergence_is_named_and_keeps_the_last_checkpoint(void **state)
{
    (void)state;
    for (size_t i = 0; i < NSTRATEGIES; i++) {
        char folder[64];
        struct hr_run_result result;
        struct hr_checkpoint checkpoint;
        run_folder_make(folder);
        struct hr_train_options options = run_options(all[i], 2);
        snprintf(options.lr_schedule, sizeof options.lr_schedule, "constant");
        snprintf(options.checkpoint_dir, sizeof options.checkpoint_dir, "%s", folder);
        options.checkpoint_every.steps = 1;
        options.warmup_epochs = 0;
        options.lr = 1e6;
        options.epochs = 10;
        CHECK_FAILS(hr_train(&options, run_digits(), NULL, &result), HR_E_DIVERGED);
        CHECK_MESSAGE("not finite");
        CHECK_MESSAGE("step");
        assert_int_not_equal(result.checkpoint[0], '\0');
        CHECK_OK(hr_checkpoint_load(folder, &checkpoint));
        hr_checkpoint_free(&checkpoint);
        run_folder_remove(folder);
    }
}

/* Evaluation apart from the run, with the scaling that stands in the checkpoint, is the run's. */
static void a_scaled_run_is_resumed_and_evaluated_with_its_scaling(void **state)
{
    (void)state;
    char folder[64], want[33];
    struct hr_evaluation evaluation;
    struct hr_train_options options = run_options("allreduce", 3);
    run_digest(&options, want);
    options.normalize = true;
    struct hr_run_result whole = run_train(&options);
    assert_string_not_equal(whole.weights_digest, want);
    run_check_resume(options, 29, whole.weights_digest);
    run_folder_make(folder);
    snprintf(options.checkpoint_dir, sizeof options.checkpoint_dir, "%s", folder);
    CHECK_DIGEST(&options, whole.weights_digest);
    CHECK_OK(hr_evaluate_checkpoint(folder, NULL, run_digits(), &evaluation));
    CHECK_NEAR(evaluation.test_loss, whole.test_loss, 1e-6, 0);
    CHECK_NEAR(evaluation.test_accuracy, whole.test_accuracy, 0, 0);
    hr_evaluation_free(&evaluation);
    snprintf(options.resume, sizeof options.resume, "%s", folder);
    options.epochs = 3;
    options.normalize = false;
    struct hr_run_result result;
    CHECK_FAILS(hr_train(&options, run_digits(), NULL, &result), HR_E_USAGE);
    CHECK_MESSAGE("trained with --normalize on, this run has off");
    hr_run_result_free(&whole);
    run_folder_remove(folder);
}

/* Only the training batches are, and by what they are, not by who decodes them. */
static void augmentation_knows_no_workers_order_or_launch(void **state)
{
    (void)state;
    char plain[33], want[33];
    struct hr_train_options options = run_options("allreduce", 3);
    run_digest(&options, plain);
    snprintf(options.augment, sizeof options.augment, "flip,crop:1");
    run_digest(&options, want);
    assert_string_not_equal(want, plain);
    run_check_resume(options, 31, want);
    snprintf(options.schedule, sizeof options.schedule, "explore:3");
    CHECK_DIGEST(&options, want);
    options = run_options("ps-sync", 3);
    snprintf(options.augment, sizeof options.augment, "flip,crop:1");
    CHECK_DIGEST(&options, want);
    options.lr = 0; /* the initial weights, evaluated */
    struct hr_run_result with = run_train(&options);
    options.augment[0] = '\0';
    struct hr_run_result without = run_train(&options);
    assert_memory_equal(&with.test_loss, &without.test_loss, sizeof with.test_loss);
    assert_true(with.train_loss != without.train_loss);
    hr_run_result_free(&with);
    hr_run_result_free(&without);
}

/* Asked to stop at the first look, which may be before or after any step. */
static int stop_at_once(void *arg)
{
    (void)arg;
    return 1;
}

static void a_request_to_stop_saves_and_can_be_resumed(void **state)
{
    (void)state;
    const struct hr_observer observer = {.should_stop = stop_at_once};
    for (size_t i = 0; i < NSTRATEGIES; i++) {
        char folder[64], want[33];
        struct hr_run_result result;
        const size_t workers = i < 2 ? 3 : 1;
        run_folder_make(folder);
        struct hr_train_options options = run_options(all[i], workers);
        run_digest(&options, want);
        snprintf(options.checkpoint_dir, sizeof options.checkpoint_dir, "%s", folder);
        snprintf(options.compute_time, sizeof options.compute_time, "3ms"); /* so it is in time */
        CHECK_OK(hr_train(&options, run_digits(), &observer, &result));
        assert_true(result.interrupted);
        assert_int_not_equal(result.checkpoint[0], '\0');
        assert_true(result.steps < 2 * 90);
        hr_run_result_free(&result);
        snprintf(options.resume, sizeof options.resume, "%s", folder);
        options.compute_time[0] = '\0';
        CHECK_DIGEST(&options, want);
        run_folder_remove(folder);
    }
}

/* A segment that is left would be left in /dev/shm; what the control block saw is over. */
static void check_refused(struct hr_train_options options, const char *message)
{
    struct hr_run_result result;
    CHECK_FAILS(hr_train(&options, run_digits(), NULL, &result), HR_E_USAGE);
    CHECK_MESSAGE(message);
}

static void wrong_options_are_refused_with_what_was_expected(void **state)
{
    (void)state;
    struct hr_train_options options = run_options("allreduce", 65);
    check_refused(options, "--workers 65: expected 1 to 64");
    options = run_options("ps-sync", 64);
    check_refused(options, "at most 64 ranks");
    options = run_options("ps-sync", 2);
    options.servers = 64;
    check_refused(options, "at most 64 ranks in all");
    options = run_options("all-reduce", 2);
    check_refused(options, "there are: allreduce, ps-sync");
    options = run_options("allreduce", 2);
    snprintf(options.algorithm, sizeof options.algorithm, "star");
    check_refused(options, "there are: auto, direct");
    options = run_options("allreduce", 2);
    options.batch_size = 0;
    check_refused(options, "--batch-size 0");
    options = run_options("allreduce", 2);
    snprintf(options.schedule, sizeof options.schedule, "explore:");
    check_refused(options, "expected real, virtual or explore:SEED");
    options = run_options("allreduce", 2);
    snprintf(options.model, sizeof options.model, "flatten, dense 11");
    check_refused(options, "11");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_sample_is_trained_on_once_an_epoch),
        cmocka_unit_test(updates_are_one_a_step_or_one_a_minibatch),
        cmocka_unit_test(an_epoch_is_as_many_samples_as_asked),
        cmocka_unit_test(epochs_of_the_size_of_the_data_change_nothing),
        cmocka_unit_test(each_epoch_has_an_order_of_its_own),
        cmocka_unit_test(computing_is_forward_backward_and_updating),
        cmocka_unit_test(evaluation_has_the_same_bits_for_any_number_of_workers),
        cmocka_unit_test(resumed_is_never_stopped),
        cmocka_unit_test(resumed_is_never_stopped_in_virtual_epochs),
        cmocka_unit_test(a_resumed_run_may_have_epochs_of_another_size),
        cmocka_unit_test(the_training_loss_of_an_epoch_is_its_own_after_resuming),
        cmocka_unit_test(saving_on_the_way_changes_nothing),
        cmocka_unit_test(a_resumed_run_may_have_other_workers),
        cmocka_unit_test(the_newest_checkpoint_has_the_most_steps_whatever_their_size),
        cmocka_unit_test(divergence_is_named_and_keeps_the_last_checkpoint),
        cmocka_unit_test(a_scaled_run_is_resumed_and_evaluated_with_its_scaling),
        cmocka_unit_test(augmentation_knows_no_workers_order_or_launch),
        cmocka_unit_test(a_request_to_stop_saves_and_can_be_resumed),
        cmocka_unit_test(wrong_options_are_refused_with_what_was_expected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
