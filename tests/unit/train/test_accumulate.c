/* --accumulate: parts of a share are added like shares of workers, an update of N minibatches is
 * one of a batch N times as large, and whatever counts updates counts these. */
#include <stdio.h>
#include <string.h>

#include "support/runs.h"

static struct hr_train_options options_of(const char *strategy, size_t workers, size_t accumulate)
{
    struct hr_train_options options = run_options(strategy, workers);
    options.accumulate = accumulate;
    return options;
}

/* The oracle: direct adds the shares of N workers in T(N), and each is cut as a part is. So also
 * with batchnorm, whose statistics are those of a share. */
static void n_parts_have_the_bits_of_n_workers(void **state)
{
    (void)state;
    static const char *const models[] = {"flatten, dense 33, relu, dense 10",
                                         "flatten, dense 16, batchnorm, relu, dense 10"};
    for (size_t m = 0; m < 2; m++)
        for (size_t n = 2; n <= 9; n++) {
            char want[33];
            struct hr_train_options options = run_options("allreduce", n);
            snprintf(options.model, sizeof options.model, "%s", models[m]);
            options.batch_size = 5;
            options.epochs = 1;
            run_digest(&options, want);
            options.workers = 1;
            options.accumulate = n;
            CHECK_DIGEST(&options, want);
        }
}

static void near_one_larger_minibatch(void **state)
{
    (void)state;
    static const char *const strategies[] = {"allreduce", "ps-sync", "local-sgd"};
    for (size_t s = 0; s < 3; s++)
        for (size_t n = 2; n <= 3; n++) {
            struct hr_train_options large = run_options(strategies[s], 3);
            struct hr_train_options parts = options_of(strategies[s], 3, n);
            large.batch_size = n * parts.batch_size;
            large.sync_every = parts.sync_every = 3;
            large.max_steps = parts.max_steps = 8;
            run_check_near(large, parts);
        }
}

/* Micro-shards are those of the whole update, so it does not matter what a minibatch is. */
static void under_repro_to_the_bit_for_any_number_of_workers(void **state)
{
    (void)state;
    char want[33];
    struct hr_train_options options = run_options("allreduce", 1);
    snprintf(options.reduce, sizeof options.reduce, "repro");
    options.global_batch_size = 64;
    options.epochs = 1;
    run_digest(&options, want);
    for (size_t n = 2; n <= 8; n *= 2)
        for (size_t workers = 1; workers * n <= options.micro_shards; workers *= 2) {
            options.workers = workers;
            options.accumulate = n;
            options.global_batch_size = 64 / n;
            CHECK_DIGEST(&options, want);
        }
    options.workers = 4;
    options.accumulate = 4;
    struct hr_run_result result;
    assert_int_equal(hr_train(&options, run_digits(), NULL, &result), HR_E_USAGE);
}

/* Every sample once per epoch, and no more updates than batches, cuts and clocks of updates. */
static void updates_are_what_is_counted(void **state)
{
    (void)state;
    static const char *const strategies[] = {"allreduce", "ps-async", "hogwild", "gossip"};
    const size_t samples = run_digits()->train.count;
    for (size_t s = 0; s < 4; s++) {
        struct hr_train_options options = options_of(strategies[s], 2, 3);
        const size_t all = 3 * options.batch_size * (s == 0 || s == 3 ? 2 : 1);
        options.epochs = 1;
        struct hr_run_result result = run_train(&options);
        assert_int_equal(result.samples, samples);
        assert_int_equal(result.updates, (samples + all - 1) / all);
        assert_int_equal(result.steps, (samples + all - 1) / all);
        hr_run_result_free(&result);
    }
}

static void a_run_resumes_between_updates(void **state)
{
    (void)state;
    char want[33];
    struct hr_train_options options = options_of("ps-sync", 3, 2);
    run_digest(&options, want);
    run_check_resume(options, 5, want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(n_parts_have_the_bits_of_n_workers),
        cmocka_unit_test(near_one_larger_minibatch),
        cmocka_unit_test(under_repro_to_the_bit_for_any_number_of_workers),
        cmocka_unit_test(updates_are_what_is_counted),
        cmocka_unit_test(a_run_resumes_between_updates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
