/* Split layers in training: beside the same shards, the grid of ranks changes no bit, whatever the
 * strategy and the launch; shards are the whole to rounding; and what cannot be is refused. */
#include <stdio.h>
#include <string.h>

#include "support/runs.h"

static const char MLP[] = "flatten, dense 40, relu, dense 36, batchnorm, relu, dropout 0.3, "
                          "dense 32, gelu, dense 10";

static struct hr_train_options split(const char *strategy, size_t workers, size_t T, size_t S)
{
    struct hr_train_options options = run_options(strategy, workers);
    snprintf(options.model, sizeof options.model, "%s", MLP);
    options.max_steps = 12;
    options.tensor_parallel = T;
    options.tensor_shards = S;
    return options;
}

static void ranks_change_no_bit(void **state)
{
    (void)state;
    static const struct {
        const char *strategy;
        size_t workers;
    } runs[] = {
        {"allreduce", 1}, {"allreduce", 2}, {"ps-sync", 2}, {"local-sgd", 2}, {"ps-async", 1}};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        const char *strategy = runs[i].strategy;
        const size_t workers = runs[i].workers;
        struct hr_train_options options = split(strategy, workers, 1, 4);
        char want[33];
        run_digest(&options, want);
        for (size_t T = 2; T <= 4; T *= 2) {
            options = split(strategy, workers, T, 4);
            CHECK_DIGEST(&options, want);
            options.timeout = 20;
            snprintf(options.launch, sizeof options.launch, "process");
            options.prefetch = T == 4 ? 2 : 0;
            CHECK_DIGEST(&options, want);
        }
    }
}

/* 2 replicas x 2 stages x 2 ranks, and whatever else computes these micro-batches. */
static void grids_change_no_bit(void **state)
{
    (void)state;
    static const char *const schedules[] = {"1f1b", "gpipe", "zero-bubble"};
    struct hr_train_options options = split("allreduce", 2, 0, 4);
    char want[33];
    options.pipeline = 1;
    options.micro_batches = 4;
    run_digest(&options, want);
    for (size_t K = 1; K <= 3; K++)
        for (size_t T = 1; T <= 4; T *= 2) {
            options = split("allreduce", 2, T, 4);
            options.pipeline = K;
            options.micro_batches = 4;
            snprintf(options.pipeline_schedule, sizeof options.pipeline_schedule, "%s",
                     schedules[(K + T) % 3]);
            CHECK_DIGEST(&options, want);
        }
}

static void one_thread_plays_all_ranks(void **state)
{
    (void)state;
    struct hr_train_options options = split("allreduce", 2, 2, 4);
    char want[33];
    run_digest(&options, want);
    snprintf(options.schedule, sizeof options.schedule, "explore:3");
    CHECK_DIGEST(&options, want);
    options = split("allreduce", 2, 4, 4);
    snprintf(options.clock, sizeof options.clock, "virtual");
    snprintf(options.compute_time, sizeof options.compute_time, "10ms");
    CHECK_DIGEST(&options, want);
}

/* Of virtual time, layers that are split take each of two ranks half. */
static void virtual_time_is_shared(void **state)
{
    (void)state;
    double seconds[2];
    for (size_t T = 1; T <= 2; T++) {
        struct hr_train_options options = split("allreduce", 1, T, 2);
        snprintf(options.clock, sizeof options.clock, "virtual");
        snprintf(options.compute_time, sizeof options.compute_time, "10ms");
        struct hr_run_result result = run_train(&options);
        seconds[T - 1] = result.compute_s;
        hr_run_result_free(&result);
    }
    CHECK_NEAR(seconds[0] / seconds[1], 2, 1e-6, 0);
}

static void another_grid_goes_on(void **state)
{
    (void)state;
    struct hr_train_options whole = split("allreduce", 2, 0, 4);
    char want[33];
    whole.max_steps = 0;
    whole.epochs = 1;
    run_digest(&whole, want);
    for (size_t T = 0; T <= 4; T += 2) {
        char folder[64];
        run_folder_make(folder);
        struct hr_train_options first = whole, then = whole;
        first.tensor_parallel = 2;
        snprintf(first.checkpoint_dir, sizeof first.checkpoint_dir, "%s", folder);
        first.max_steps = 20;
        struct hr_run_result result = run_train(&first);
        hr_run_result_free(&result);
        then.tensor_parallel = T;
        snprintf(then.resume, sizeof then.resume, "%s", folder);
        CHECK_DIGEST(&then, want);
        run_folder_remove(folder);
    }
}

static void a_recorded_run_is_repeated(void **state)
{
    (void)state;
    run_check_replay(split("ps-async", 2, 2, 4));
}

static void shards_are_the_whole_to_rounding(void **state)
{
    (void)state;
    static const char *const models[] = {"mlp", "softmax", "cnn", "resnet8",
                                         "flatten, dense 64, relu, dense 64, relu, dense 10"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        for (size_t S = 2; S <= 4; S++) {
            struct hr_train_options a = split("allreduce", 1, 0, 0), b;
            snprintf(a.model, sizeof a.model, "%s", models[i]);
            a.momentum = 0;
            a.batch_size = i == 3 ? 4 : a.batch_size;
            a.max_steps = 20;
            b = a;
            b.tensor_shards = S;
            run_check_near(a, b);
        }
}

static void what_was_split_is_reported(void **state)
{
    (void)state;
    struct hr_train_options options = split("allreduce", 2, 2, 4);
    struct hr_run_result result = run_train(&options);
    const struct hr_tensor_report *report = &result.tensor;
    assert_int_equal(report->shards, 4);
    assert_int_equal(report->ranks, 2);
    assert_int_equal(report->nlayers, 10);
    assert_string_equal(report->layer[1].cut, "by columns");
    assert_string_equal(report->layer[3].cut, "by rows");
    assert_string_equal(report->layer[4].cut, "by channels");
    assert_true(report->bytes > 0);
    assert_int_equal(result.pipeline.stages, 0);
    hr_run_result_free(&result);
    options = split("allreduce", 2, 1, 1);
    result = run_train(&options);
    assert_int_equal(result.tensor.shards, 0);
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
    const struct hr_train_options good = split("allreduce", 2, 2, 4);
    struct hr_train_options bad = good;
    bad.tensor_shards = 3;
    check_refused(bad, "--tensor-parallel 2:3: expected a multiple of 2 shards");
    bad = good;
    bad.tensor_shards = 64;
    check_refused(bad, "--tensor-parallel 2:64: the widest layer that can be cut");
    bad = good;
    bad.tensor_parallel = bad.tensor_shards = 40;
    check_refused(bad, "are 80 ranks, expected at most 64");
    bad = good;
    snprintf(bad.overlap, sizeof bad.overlap, "on");
    check_refused(bad, "--overlap on: not in a single stage");
    bad = good;
    snprintf(bad.on_loss, sizeof bad.on_loss, "continue");
    check_refused(bad, "--on-loss");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_change_no_bit),
        cmocka_unit_test(grids_change_no_bit),
        cmocka_unit_test(one_thread_plays_all_ranks),
        cmocka_unit_test(virtual_time_is_shared),
        cmocka_unit_test(another_grid_goes_on),
        cmocka_unit_test(a_recorded_run_is_repeated),
        cmocka_unit_test(shards_are_the_whole_to_rounding),
        cmocka_unit_test(what_was_split_is_reported),
        cmocka_unit_test(what_does_not_go_with_it_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
