/* local-sgd: rungs of the ladder, what cuts and resuming do to it, and AdaComm's period. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hogring/checkpoint.h"
#include "support/runs.h"

static struct hr_train_options options_of(size_t workers, size_t every)
{
    struct hr_train_options options = run_options("local-sgd", workers);
    options.sync_every = every;
    return options;
}

/* Saving at multiples of `every` steps, to a folder of its own. */
static void save_every(struct hr_train_options *options, char folder[64], uint64_t every)
{
    run_folder_make(folder);
    snprintf(options->checkpoint_dir, sizeof options->checkpoint_dir, "%s", folder);
    options->checkpoint_every.steps = every;
}

static void digest_with_cuts(struct hr_train_options options, uint64_t every, char digest[33])
{
    char folder[64];
    save_every(&options, folder, every);
    run_digest(&options, digest);
    run_folder_remove(folder);
}

/* To rounding: the mean of updated replicas is the replica updated with the mean gradient, as long
 * as updates are linear in it (SGD, momentum) and shares are equal. 20 steps of 3 x 16 samples lie
 * within the first epoch. */
static void with_period_one_it_is_near_allreduce(void **state)
{
    (void)state;
    struct hr_train_options local = options_of(3, 1), all = run_options("allreduce", 3);
    local.max_steps = all.max_steps = 20;
    run_check_near(all, local);
}

/* An epoch of two global batches and one sample more, which is worker 0's. */
static void a_worker_without_samples_makes_no_update(void **state)
{
    (void)state;
    char folder[64];
    struct hr_checkpoint checkpoint;
    struct hr_train_options options = options_of(3, 1);
    options.epoch_size = 2 * 3 * options.batch_size + 1;
    options.epochs = 1;
    save_every(&options, folder, 0);
    struct hr_run_result result = run_train(&options);
    CHECK_OK(hr_checkpoint_load(folder, &checkpoint));
    const struct hr_tensor *steps = hr_tensor_get(&checkpoint.trainer, "step");
    assert_non_null(steps);
    assert_int_equal(steps->bytes, 3 * sizeof(int64_t));
    assert_memory_equal(steps->data, ((const int64_t[]){3, 2, 2}), 3 * sizeof(int64_t));
    hr_checkpoint_free(&checkpoint);
    hr_run_result_free(&result);
    run_folder_remove(folder);
}

/* No order in which one thread runs the ranks, no algorithm that adds in T(n), changes a bit. */
static void timing_decides_nothing(void **state)
{
    (void)state;
    static const char *const algorithms[] = {"direct", "master-worker", "tree"};
    struct hr_train_options options = options_of(3, 4);
    char want[33];
    options.epochs = 1;
    run_digest(&options, want);
    for (size_t a = 0; a < 3; a++) {
        snprintf(options.algorithm, sizeof options.algorithm, "%s", algorithms[a]);
        snprintf(options.schedule, sizeof options.schedule, "free");
        CHECK_DIGEST(&options, want);
        for (size_t seed = 0; seed < check_count(20, 300); seed++) {
            snprintf(options.schedule, sizeof options.schedule, "explore:%zu", seed);
            CHECK_DIGEST(&options, want);
        }
    }
}

/* Each period trains another way. */
static void the_period_is_obeyed(void **state)
{
    (void)state;
    char digest[3][33];
    for (size_t i = 0; i < 3; i++) {
        const struct hr_train_options options = options_of(2, (size_t)1 << i);
        run_digest(&options, digest[i]);
    }
    assert_string_not_equal(digest[0], digest[1]);
    assert_string_not_equal(digest[1], digest[2]);
}

/* A save copies what there is, wherever it comes in a period. */
static void a_save_changes_nothing(void **state)
{
    (void)state;
    static const uint64_t every[] = {1, 3, 7, 10};
    for (size_t adaptive = 0; adaptive < 2; adaptive++) {
        struct hr_train_options options = options_of(3, 5); /* 30 steps per epoch */
        char plain[33], saved[33];
        options.adaptive_sync = adaptive;
        run_digest(&options, plain);
        for (size_t i = 0; i < 4; i++) {
            digest_with_cuts(options, every[i], saved);
            assert_string_equal(plain, saved);
        }
    }
}

/* Stop at step k, go on to the end, saving at multiples of `every` all along. */
static void check_resume(struct hr_train_options options, uint64_t every, uint64_t k)
{
    char want[33];
    digest_with_cuts(options, every, want);
    options.checkpoint_every.steps = every;
    run_check_resume(options, k, want);
}

/* States of the optimizer are each worker's own, and every one of them is gone on with. */
static void resumed_is_never_stopped(void **state)
{
    (void)state;
    static const uint64_t every[] = {8, 10, 5, 30}, k[] = {16, 1, 33, 60};
    for (size_t i = 0; i < 4; i++)
        for (size_t adaptive = 0; adaptive < 2; adaptive++) {
            struct hr_train_options options = options_of(3, 4);
            options.adaptive_sync = adaptive;
            options.epochs = 3;
            snprintf(options.optimizer, sizeof options.optimizer, "%s", i % 2 ? "adam" : "sgd");
            check_resume(options, every[i], k[i]);
        }
}

static int stop_at_once(void *arg)
{
    (void)arg;
    return 1;
}

/* A request to stop holds from the next averaging on, so it changes no bit of what follows. */
static void a_stopped_run_resumes_as_if_never_stopped(void **state)
{
    (void)state;
    const struct hr_observer observer = {.should_stop = stop_at_once};
    struct hr_run_result result;
    char want[33], folder[64];
    struct hr_train_options options = options_of(3, 8);
    run_digest(&options, want);
    save_every(&options, folder, 0);
    snprintf(options.compute_time, sizeof options.compute_time, "3ms"); /* so it is in time */
    CHECK_OK(hr_train(&options, run_digits(), &observer, &result));
    options.compute_time[0] = '\0';
    assert_true(result.interrupted);
    assert_true(result.steps % 30 % 8 == 0);
    hr_run_result_free(&result);
    snprintf(options.resume, sizeof options.resume, "%s", folder);
    CHECK_DIGEST(&options, want);
    run_folder_remove(folder);
}

/* Bytes tell how often the weights were averaged: by a ring, 2 (n - 1) / n of them each time. */
static uint64_t averagings(struct hr_train_options options, uint64_t upto)
{
    snprintf(options.algorithm, sizeof options.algorithm, "master-worker");
    options.max_steps = upto;
    struct hr_run_result result = run_train(&options);
    const uint64_t each = 2 * result.params * sizeof(float); /* two workers: one way and back */
    assert_int_equal(result.bytes_sent % each, 0);
    const uint64_t count = result.bytes_sent / each;
    hr_run_result_free(&result);
    return count;
}

/* By hand, from the losses that the run itself reports: in epoch e, ceil(H0 sqrt(F / F0)). */
static void the_adaptive_period_follows_the_loss(void **state)
{
    (void)state;
    enum { EPOCHS = 6, STEPS = 45 }; /* 1438 samples in steps of 32 */
    struct hr_train_options options = options_of(2, 16);
    options.adaptive_sync = true;
    options.epochs = EPOCHS;
    options.weight_decay = 0;
    struct hr_run_result result = run_train(&options);
    uint64_t want = 0, shortest = 16;
    for (size_t epoch = 0; epoch < EPOCHS; epoch++) {
        const double now = result.curve[epoch ? epoch - 1 : 0].train_loss;
        const uint64_t period = (uint64_t)ceil(16 * sqrt(now / result.curve[0].train_loss));
        want += (STEPS + period - 1) / period;
        shortest = period < shortest ? period : shortest;
    }
    assert_in_range(shortest, 1, 12); /* or nothing was adapted */
    assert_int_equal(averagings(options, 0), want);
    hr_run_result_free(&result);
    options.adaptive_sync = false;
    assert_int_equal(averagings(options, 0), EPOCHS * 3);
    assert_int_equal(averagings(options, 17), 1); /* a run's end is no averaging */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_period_one_it_is_near_allreduce),
        cmocka_unit_test(a_worker_without_samples_makes_no_update),
        cmocka_unit_test(timing_decides_nothing),
        cmocka_unit_test(the_period_is_obeyed),
        cmocka_unit_test(a_save_changes_nothing),
        cmocka_unit_test(resumed_is_never_stopped),
        cmocka_unit_test(a_stopped_run_resumes_as_if_never_stopped),
        cmocka_unit_test(the_adaptive_period_follows_the_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
