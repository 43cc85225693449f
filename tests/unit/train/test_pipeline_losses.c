/* Workers that are pipelines, in runs that outlive the loss of some: the same bits as with workers
 * that accumulate the same micro-batches, whoever is lost and whoever comes back. */
#include <stdio.h>
#include <string.h>

#include "support/runs.h"

/* Three workers of 4 micro-batches of 4. */
static struct hr_train_options losing(const char *strategy, const char *how, const char *inject)
{
    struct hr_train_options options = run_options(strategy, 3);
    snprintf(options.model, sizeof options.model,
             "flatten, dense 11, relu, dense 12, batchnorm, relu, dropout 0.3, dense 10");
    snprintf(options.on_loss, sizeof options.on_loss, "%s", how);
    snprintf(options.inject, sizeof options.inject, "%s", inject);
    options.batch_size = 4;
    options.accumulate = 4;
    options.epochs = 1;
    return options;
}

static struct hr_train_options staged(const struct hr_train_options *serial, const char *schedule,
                                      size_t K)
{
    struct hr_train_options options = *serial;
    snprintf(options.pipeline_schedule, sizeof options.pipeline_schedule, "%s", schedule);
    options.pipeline = K;
    options.micro_batches = serial->accumulate;
    options.batch_size = serial->accumulate * serial->batch_size;
    options.accumulate = 1;
    return options;
}

static void check_same(const struct hr_train_options *serial, size_t losses)
{
    static const char *const schedules[] = {"gpipe", "1f1b", "zero-bubble"};
    struct hr_run_result want = run_train(serial);
    assert_int_equal(want.nlosses, losses);
    for (size_t i = 0; i < 3; i++) {
        const struct hr_train_options pipeline = staged(serial, schedules[i], 1 + i);
        struct hr_run_result got = run_train(&pipeline);
        assert_string_equal(got.weights_digest, want.weights_digest);
        assert_int_equal(got.nlosses, losses);
        assert_int_equal(got.samples, want.samples);
        hr_run_result_free(&got);
    }
    hr_run_result_free(&want);
}

/* Two are left, and then one: it has three times as many micro-batches as it had. */
static void who_is_left_shares_the_batch(void **state)
{
    (void)state;
    static const char *const strategies[] = {"allreduce", "ps-sync", "local-sgd"};
    for (size_t s = 0; s < sizeof strategies / sizeof *strategies; s++)
        for (size_t restart = 0; restart < 2; restart++) {
            struct hr_train_options serial = losing(strategies[s], restart ? "restart" : "continue",
                                                    "kill:2@step=3,kill:1@step=7");
            snprintf(serial.clock, sizeof serial.clock, "virtual");
            snprintf(serial.compute_time, sizeof serial.compute_time, "lognormal(10ms, 0.3)");
            check_same(&serial, 2);
        }
}

/* Threads: a worker's end leaves its stages where they wait, and who is started again finds them
 * there. How far all go back depends on the time: bits repeat where all come back. */
static void in_real_time_too(void **state)
{
    (void)state;
    const struct hr_train_options serial =
        losing("allreduce", "restart", "kill:0@step=3,kill:1@step=7");
    check_same(&serial, 2);
    struct hr_train_options left = losing("allreduce", "continue", "kill:2@step=3,kill:1@step=7");
    left = staged(&left, "1f1b", 3);
    struct hr_run_result result = run_train(&left);
    assert_int_equal(result.nlosses, 2);
    hr_run_result_free(&result);
}

/* Asynchronous workers, too, in the same order of events. */
static void in_explored_orders_too(void **state)
{
    (void)state;
    static const char *const strategies[] = {"allreduce", "ps-async", "hogwild"};
    for (size_t seed = 0; seed < check_count(6, 60); seed++) {
        struct hr_train_options serial = losing(
            strategies[seed % 3], seed % 2 ? "restart" : "continue", "kill:0@step=2,kill:1@step=4");
        snprintf(serial.schedule, sizeof serial.schedule, "explore:%zu", seed);
        check_same(&serial, 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_left_shares_the_batch),
        cmocka_unit_test(in_real_time_too),
        cmocka_unit_test(in_explored_orders_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
