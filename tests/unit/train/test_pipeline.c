/* The ladder's rung of pipelines: a worker that is several stages trains as one that computes the
 * same micro-batches one by one (--accumulate), bit for bit, whatever the schedule, the strategy
 * and the launch; and what does not go with a pipeline is refused. */
#include <stdio.h>
#include <string.h>

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

static const char *const schedules[] = {"gpipe", "1f1b", "zero-bubble"};
enum { NSCHEDULES = sizeof schedules / sizeof *schedules };

static void stages_and_micro_batches_change_no_bit(void **state)
{
    (void)state;
    for (size_t M = 1; M <= 8; M *= 2) {
        struct hr_train_options one = serial("allreduce", 1, M);
        char want[33];
        run_digest(&one, want);
        for (size_t i = 0; i < NSCHEDULES; i++)
            for (size_t K = 1; K <= 4; K++) {
                const struct hr_train_options pipeline = staged(&one, schedules[i], K);
                CHECK_DIGEST(&pipeline, want);
            }
    }
}

/* Whatever is computed again: dropout draws the same, running statistics move once. */
static void what_is_recomputed_is_what_it_was(void **state)
{
    (void)state;
    for (size_t M = 2; M <= 8; M *= 4) {
        struct hr_train_options one = serial("allreduce", 1, M);
        char want[33];
        run_digest(&one, want);
        for (size_t i = 0; i < NSCHEDULES; i++)
            for (size_t played = 0; played < 2; played++) {
                struct hr_train_options pipeline = staged(&one, schedules[i], 3);
                snprintf(pipeline.schedule, sizeof pipeline.schedule,
                         played ? "explore:1" : "free");
                pipeline.recompute = true;
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
    pipeline.recompute = true;
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
            const struct hr_train_options pipeline = staged(&one, schedules[K - 1], K);
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
            const struct hr_train_options pipeline = staged(&one, schedules[seed % NSCHEDULES], 3);
            CHECK_DIGEST(&pipeline, want);
        }
}

/* In virtual time the bits are those of a worker that accumulates, and the time is the walked
 * schedule's: of nearly equal parts nearly (M + K - 1) / (M K) of one rank's, and less where a
 * stage has gradients of weights to compute while it would idle. */
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
    double before = 1;
    for (size_t i = 0; i < NSCHEDULES; i++) {
        struct hr_train_options pipeline = staged(&one, schedules[i], 2);
        struct hr_run_result result = run_train(&pipeline);
        const struct hr_pipeline_report *report = &result.pipeline;
        assert_string_equal(result.weights_digest, alone.weights_digest);
        CHECK_NEAR(report->bubble, report->formula, 0, 0.05);
        CHECK_NEAR(result.compute_s, alone.compute_s / (2 * (1 - report->bubble)), 1e-6, 0);
        for (size_t k = 0; k < 2; k++)
            CHECK_NEAR(report->stage[k].busy_s, alone.compute_s * report->stage[k].madds_share,
                       1e-6, 0);
        assert_true(i < 2 || report->bubble < before / 2);
        before = report->bubble;
        hr_run_result_free(&result);
    }
    hr_run_result_free(&alone);
}

/* The same bits, later: by the time of forward, of all micro-batches but those that a stage
 * computes backward right after. */
static void virtual_time_has_what_is_recomputed(void **state)
{
    (void)state;
    const struct hr_train_options one = serial("allreduce", 2, 8);
    struct hr_train_options pipeline = staged(&one, "gpipe", 2);
    snprintf(pipeline.clock, sizeof pipeline.clock, "virtual");
    snprintf(pipeline.compute_time, sizeof pipeline.compute_time, "10ms");
    pipeline.max_steps = 3;
    struct hr_run_result without = run_train(&pipeline);
    pipeline.recompute = true;
    struct hr_run_result with = run_train(&pipeline);
    const struct hr_recompute_report *report = &with.pipeline.recompute;
    assert_string_equal(with.weights_digest, without.weights_digest);
    assert_true(with.compute_s > 1.2 * without.compute_s);
    CHECK_NEAR(with.pipeline.without_s, without.compute_s, 1e-6, 0);
    assert_true(report->on && report->bytes < report->bytes_without);
    assert_true(report->share > 0.2 && report->share < 0.5);
    pipeline.tensor_parallel = 2; /* ranks that share the work have as much of it in all */
    struct hr_run_result shared = run_train(&pipeline);
    CHECK_NEAR(shared.pipeline.recompute.share, report->share, 1e-6, 0);
    assert_int_equal(shared.tensor.ranks, 2);
    hr_run_result_free(&shared);
    hr_run_result_free(&with);
    hr_run_result_free(&without);
}

/* Whole shares, of batches that begin in one pass over the data and end in the next, too. */
static void what_is_decoded_ahead_is_the_same(void **state)
{
    (void)state;
    struct hr_train_options one = serial("allreduce", 1, 4);
    char want[33];
    one.epoch_size = 1500; /* of 1438, where the last quarter of a batch begins */
    one.batch_size = 2;
    one.max_steps = 182;
    run_digest(&one, want);
    struct hr_train_options pipeline = staged(&one, "1f1b", 2);
    pipeline.prefetch = 2;
    uint64_t hits = 0;
    for (int i = 0; i < 20 && hits == 0; i++) { /* a busy machine may decode nothing in time */
        struct hr_run_result result = run_train(&pipeline);
        assert_string_equal(result.weights_digest, want);
        assert_int_equal(result.prefetch_hits + result.prefetch_misses, 182);
        hits = result.prefetch_hits;
        hr_run_result_free(&result);
    }
    assert_true(hits > 0);
}

/* Stages are done at other times in each replica, and buckets are the same in all; one alone has
 * nothing to add, and updates once. */
static void gradients_are_summed_while_other_stages_compute(void **state)
{
    (void)state;
    static const char *const algorithms[] = {"direct", "ring", "auto"};
    for (size_t i = 0; i < 3; i++)
        for (size_t K = 2; K <= 4; K++) {
            struct hr_train_options one = serial("allreduce", i == 2 ? 1 : 3, 4);
            char want[33];
            snprintf(one.algorithm, sizeof one.algorithm, "%s", algorithms[i]);
            run_digest(&one, want);
            struct hr_train_options pipeline = staged(&one, schedules[K % NSCHEDULES], K);
            snprintf(pipeline.overlap, sizeof pipeline.overlap, "on");
            snprintf(pipeline.bucket_size, sizeof pipeline.bucket_size, "256");
            CHECK_DIGEST(&pipeline, want);
        }
}

/* Micro-shards are micro-batches: as many workers, of as many stages as you like, the same bits; of
 * a global batch that they do not divide evenly, too. */
static void micro_shards_pass_through_stages(void **state)
{
    (void)state;
    char want[33];
    struct hr_train_options one = serial("allreduce", 1, 1);
    one.global_batch_size = 37;
    one.micro_shards = 8;
    snprintf(one.reduce, sizeof one.reduce, "repro");
    run_digest(&one, want);
    for (size_t workers = 1; workers <= 4; workers *= 2)
        for (size_t K = 1; K <= 3; K++) {
            struct hr_train_options pipeline = one;
            pipeline.workers = workers;
            pipeline.pipeline = K;
            snprintf(pipeline.pipeline_schedule, sizeof pipeline.pipeline_schedule, "%s",
                     schedules[K - 1]);
            CHECK_DIGEST(&pipeline, want);
        }
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
    const struct hr_train_options one = serial("ps-async", 2, 2);
    run_check_replay(staged(&one, "1f1b", 2));
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
    bad.pipeline = 1;
    snprintf(bad.overlap, sizeof bad.overlap, "on");
    check_refused(bad, "--overlap on: not in a single stage: its gradients are whole all at once");
    bad = good;
    snprintf(bad.pipeline_schedule, sizeof bad.pipeline_schedule, "interleaved");
    check_refused(bad, "nothing to interleave; expected interleaved:2, or 1f1b");
    bad = good;
    bad.accumulate = 2;
    check_refused(bad, "--accumulate 2: not with --pipeline 2: micro-batches says");
    bad = good;
    snprintf(bad.reduce, sizeof bad.reduce, "repro");
    bad.micro_shards = 4;
    bad.global_batch_size = 32;
    check_refused(bad, "they are the 2 of 4 micro-shards that each of 2 workers has");
    bad = good;
    bad.tensor_parallel = 2;
    snprintf(bad.on_loss, sizeof bad.on_loss, "continue");
    check_refused(bad, "--on-loss continue: not with --tensor-parallel 2 in real time");
    bad = good;
    bad.micro_batches = 3;
    check_refused(bad, "--pipeline micro-batches=3: expected a divisor of --batch-size 16");
    bad = good;
    bad.global_batch_size = 36;
    check_refused(bad, "--pipeline micro-batches=4: expected a divisor of the 18 samples");
    bad = good;
    bad.pipeline = 7;
    check_refused(bad, "the model can be cut into at most 6 parts, not 7");
    bad = good;
    bad.pipeline = 40;
    check_refused(bad, "are 80 ranks, expected at most 64");
    bad = good;
    snprintf(bad.stages, sizeof bad.stages, "3,2");
    check_refused(bad, "--pipeline stages=3,2: 5 layers, the model has 10");
    bad = good;
    snprintf(bad.pipeline_schedule, sizeof bad.pipeline_schedule, "pipedream");
    check_refused(bad, "--pipeline micro-batches=4: not with --pipeline schedule=pipedream");
    bad.micro_batches = 0;
    check_refused(bad, "its stages update their own weights, which no other replica has; expected "
                       "--workers 1");
    bad = good;
    snprintf(bad.pipeline_schedule, sizeof bad.pipeline_schedule, "2f2b");
    check_refused(bad, "2f2b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_and_micro_batches_change_no_bit),
        cmocka_unit_test(what_is_recomputed_is_what_it_was),
        cmocka_unit_test(several_parts_a_stage_change_no_bit),
        cmocka_unit_test(strategies_do_not_know),
        cmocka_unit_test(networks_of_images_are_cut_too),
        cmocka_unit_test(one_thread_plays_all_stages),
        cmocka_unit_test(virtual_time_is_that_of_the_schedule),
        cmocka_unit_test(virtual_time_has_what_is_recomputed),
        cmocka_unit_test(what_is_decoded_ahead_is_the_same),
        cmocka_unit_test(gradients_are_summed_while_other_stages_compute),
        cmocka_unit_test(micro_shards_pass_through_stages),
        cmocka_unit_test(another_grid_goes_on),
        cmocka_unit_test(a_recorded_pipeline_is_repeated),
        cmocka_unit_test(what_stages_did_is_reported),
        cmocka_unit_test(what_does_not_go_with_it_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
