/* The ladder's rung of pipelines: a worker that is several stages trains as one that computes the
 * same micro-batches one by one (--accumulate), bit for bit, whatever the schedule, the strategy
 * and the launch; and what does not go with a pipeline is refused. */
#include <stdio.h>
#include <string.h>

#include "hogring/replay.h"
#include "support/runs.h"

static const char MLP[] = "flatten, dense 11, relu, dense 12, relu, dense 9, batchnorm, relu, "
                          "dropout 0.3, dense 10";

/* One worker or several that accumulate M micro-batches of 4, twelve updates. */
static struct hr_train_options serial(const char *strategy, size_t workers, size_t M)
{
    struct hr_train_options options = run_options(strategy, workers);
    snprintf(options.model, sizeof options.model, "%s", MLP);
    options.batch_size = 4;
    options.accumulate = M;
    options.max_steps = 12;
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

static const char *const schedules[] = {"gpipe", "1f1b"};

static void stages_and_micro_batches_change_no_bit(void **state)
{
    (void)state;
    for (size_t M = 1; M <= 8; M *= 2) {
        struct hr_train_options one = serial("allreduce", 1, M);
        char want[33];
        run_digest(&one, want);
        for (size_t i = 0; i < 2; i++)
            for (size_t K = 1; K <= 4; K++) {
                const struct hr_train_options pipeline = staged(&one, schedules[i], K);
                CHECK_DIGEST(&pipeline, want);
            }
    }
}

static void several_parts_a_stage_change_no_bit(void **state)
{
    (void)state;
    struct hr_train_options one = serial("allreduce", 1, 4);
    char want[33];
    run_digest(&one, want);
    struct hr_train_options pipeline = staged(&one, "interleaved", 2);
    pipeline.chunks = 2;
    CHECK_DIGEST(&pipeline, want);
    snprintf(pipeline.stages, sizeof pipeline.stages, "3,2,4,1");
    CHECK_DIGEST(&pipeline, want);
}

static void strategies_do_not_know(void **state)
{
    (void)state;
    static const char *const strategies[] = {"allreduce", "ps-sync", "local-sgd",        "ps-async",
                                             "hogwild",   "gossip",  "elastic-averaging"};
    for (size_t s = 0; s < sizeof strategies / sizeof *strategies; s++)
        for (size_t workers = 1; workers <= (s < 3 ? 2 : 1); workers++)
            for (size_t adam = 0; adam < 2; adam++) {
                struct hr_train_options one = serial(strategies[s], workers, 4);
                char want[33];
                snprintf(one.optimizer, sizeof one.optimizer, "%s", adam ? "adam" : "sgd");
                if (s == 6 && adam)
                    continue;
                run_digest(&one, want);
                const struct hr_train_options pipeline = staged(&one, "1f1b", 3);
                CHECK_DIGEST(&pipeline, want);
            }
}

static void networks_of_images_are_cut_too(void **state)
{
    (void)state;
    static const char *const models[] = {"mlp", "cnn", "resnet8"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct hr_train_options one = serial("allreduce", 1, 2);
        char want[33];
        snprintf(one.model, sizeof one.model, "%s", models[i]);
        one.max_steps = 3;
        run_digest(&one, want);
        for (size_t K = 2; K <= 3; K++) {
            const struct hr_train_options pipeline = staged(&one, "1f1b", K);
            CHECK_DIGEST(&pipeline, want);
        }
    }
}

/* Asynchronous workers, too, in the same order of events. */
static void one_thread_plays_all_stages(void **state)
{
    (void)state;
    static const char *const strategies[] = {"allreduce", "ps-sync", "ps-async", "local-sgd"};
    for (size_t s = 0; s < sizeof strategies / sizeof *strategies; s++)
        for (size_t seed = 0; seed < check_count(3, 100); seed++) {
            struct hr_train_options one = serial(strategies[s], 2, 4);
            char want[33];
            snprintf(one.schedule, sizeof one.schedule, "explore:%zu", seed);
            run_digest(&one, want);
            const struct hr_train_options pipeline = staged(&one, schedules[seed % 2], 3);
            CHECK_DIGEST(&pipeline, want);
        }
}

/* In virtual time the bits are those of a worker that accumulates, and the time is the walked
 * schedule's: of nearly equal parts nearly (M + K - 1) / (M K) of one rank's. */
static void virtual_time_is_that_of_the_schedule(void **state)
{
    (void)state;
    struct hr_train_options one = serial("ps-sync", 4, 8);
    snprintf(one.model, sizeof one.model,
             "flatten, dense 64, relu, dense 64, relu, dense 53, relu, dense 53, relu, dense 10");
    snprintf(one.clock, sizeof one.clock, "virtual");
    snprintf(one.compute_time, sizeof one.compute_time, "10ms");
    one.max_steps = 3;
    struct hr_run_result alone = run_train(&one);
    for (size_t i = 0; i < 2; i++) {
        struct hr_train_options pipeline = staged(&one, schedules[i], 2);
        struct hr_run_result result = run_train(&pipeline);
        const struct hr_pipeline_report *report = &result.pipeline;
        assert_string_equal(result.weights_digest, alone.weights_digest);
        CHECK_NEAR(report->bubble, report->formula, 0, 0.05);
        CHECK_NEAR(result.compute_s, alone.compute_s / (2 * (1 - report->bubble)), 1e-6, 0);
        for (size_t k = 0; k < 2; k++)
            CHECK_NEAR(report->stage[k].busy_s, alone.compute_s * report->stage[k].madds_share,
                       1e-6, 0);
        hr_run_result_free(&result);
    }
    hr_run_result_free(&alone);
}

/* Saved in the middle by two stages; one and three go on. */
static void another_grid_goes_on(void **state)
{
    (void)state;
    struct hr_train_options one = serial("allreduce", 1, 4);
    char want[33];
    one.max_steps = 0;
    one.epochs = 1;
    run_digest(&one, want);
    for (size_t K = 0; K <= 3; K++) {
        char folder[64];
        run_folder_make(folder);
        struct hr_train_options first = staged(&one, "1f1b", 2);
        snprintf(first.checkpoint_dir, sizeof first.checkpoint_dir, "%s", folder);
        first.max_steps = 40;
        struct hr_run_result result = run_train(&first);
        hr_run_result_free(&result);
        struct hr_train_options then = K ? staged(&one, "gpipe", K) : one;
        snprintf(then.resume, sizeof then.resume, "%s", folder);
        CHECK_DIGEST(&then, want);
        run_folder_remove(folder);
    }
}

static void a_recorded_pipeline_is_repeated(void **state)
{
    (void)state;
    char folder[64];
    run_folder_make(folder);
    struct hr_train_options one = serial("ps-async", 2, 2), options = staged(&one, "1f1b", 2);
    struct hr_run_result result = {0};
    snprintf(options.record, sizeof options.record, "%.50s/trace", folder);
    result = run_train(&options);
    char want[33];
    memcpy(want, result.weights_digest, sizeof want);
    hr_run_result_free(&result);
    struct hr_replay *replay;
    CHECK_OK(hr_replay_open(options.record, &replay));
    CHECK_OK(hr_replay_run(replay, run_digits(), NULL, &result));
    assert_string_equal(result.weights_digest, want);
    hr_run_result_free(&result);
    hr_replay_close(replay);
    run_folder_remove(folder);
}

static void what_stages_did_is_reported(void **state)
{
    (void)state;
    const struct hr_train_options one = serial("allreduce", 2, 8),
                                  options = staged(&one, "1f1b", 3);
    struct hr_run_result result = run_train(&options);
    const struct hr_pipeline_report *report = &result.pipeline;
    size_t params = 0;
    double share = 0;
    assert_int_equal(report->stages, 3);
    assert_int_equal(report->micro_batches, 8);
    for (size_t k = 0; k < 3; k++) {
        assert_int_equal(report->stage[k].peak, 3 - k);
        params += report->stage[k].params;
        share += report->stage[k].madds_share;
        assert_true(report->stage[k].busy_s > 0 && report->stage[k].wait_s >= 0);
    }
    assert_int_equal(params, result.params);
    CHECK_NEAR(share, 1, 1e-12, 0);
    CHECK_NEAR(report->formula, 2.0 / 10, 1e-12, 0);
    assert_true(report->bubble > 0 && report->bubble < 1);
    /* 12 updates of 64 samples; 12 and 9 floats forward and back, or where it is cut else */
    assert_true(report->bytes > 0 && report->bytes % (12 * 64 * 2 * sizeof(float)) == 0);
    assert_int_equal(result.workers, 2);
    assert_int_equal(result.batch_size, 32);
    assert_int_equal(result.samples, 12 * 64);
    hr_run_result_free(&result);
}

static void check_refused(struct hr_train_options options, const char *why)
{
    struct hr_run_result result;
    CHECK_FAILS(hr_train(&options, run_digits(), NULL, &result), HR_E_USAGE);
    CHECK_MESSAGE(why);
}

static void what_does_not_go_with_it_is_refused(void **state)
{
    (void)state;
    const struct hr_train_options one = serial("allreduce", 2, 4), good = staged(&one, "1f1b", 2);
    struct hr_train_options bad = good;
    bad.accumulate = 2;
    check_refused(bad, "--accumulate: --micro-batches says");
    bad = good;
    bad.prefetch = 1;
    check_refused(bad, "--prefetch");
    bad = good;
    snprintf(bad.overlap, sizeof bad.overlap, "on");
    check_refused(bad, "--overlap on");
    bad = good;
    snprintf(bad.reduce, sizeof bad.reduce, "repro");
    bad.global_batch_size = 32;
    check_refused(bad, "--reduce repro");
    bad = good;
    snprintf(bad.on_loss, sizeof bad.on_loss, "continue");
    check_refused(bad, "--on-loss");
    bad = good;
    bad.micro_batches = 3;
    check_refused(bad, "--micro-batches 3: expected a divisor of --batch-size 16");
    bad = good;
    bad.global_batch_size = 36;
    check_refused(bad, "--micro-batches 4: expected a divisor of the 18 samples");
    bad = good;
    bad.pipeline = 7;
    check_refused(bad, "the model can be cut into at most 6 parts, not 7");
    bad = good;
    bad.pipeline = 40;
    check_refused(bad, "are 80 ranks, expected at most 64");
    bad = good;
    snprintf(bad.stages, sizeof bad.stages, "3,2");
    check_refused(bad, "--stages 3,2: 5 layers, the model has 10");
    bad = good;
    snprintf(bad.pipeline_schedule, sizeof bad.pipeline_schedule, "zero-bubble");
    check_refused(bad, "not there yet");
    bad = good;
    snprintf(bad.pipeline_schedule, sizeof bad.pipeline_schedule, "2f2b");
    check_refused(bad, "2f2b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_and_micro_batches_change_no_bit),
        cmocka_unit_test(several_parts_a_stage_change_no_bit),
        cmocka_unit_test(strategies_do_not_know),
        cmocka_unit_test(networks_of_images_are_cut_too),
        cmocka_unit_test(one_thread_plays_all_stages),
        cmocka_unit_test(virtual_time_is_that_of_the_schedule),
        cmocka_unit_test(another_grid_goes_on),
        cmocka_unit_test(a_recorded_pipeline_is_repeated),
        cmocka_unit_test(what_stages_did_is_reported),
        cmocka_unit_test(what_does_not_go_with_it_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
