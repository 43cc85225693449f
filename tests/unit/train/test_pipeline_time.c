/* Pipelines in virtual time, with real gradients: the bits are those of a worker that accumulates,
 * however many stages there are; the time is that of the schedule, of the links, of who is slow. */
#include <stdio.h>
#include <string.h>

#include "support/runs.h"

/* One worker, or several, whose gradients would take one rank 10 ms. */
static struct hr_train_options simulated(size_t workers)
{
    struct hr_train_options options = run_options("ps-sync", workers);
    snprintf(options.clock, sizeof options.clock, "virtual");
    snprintf(options.compute_time, sizeof options.compute_time, "10ms");
    options.lr = 0.001;
    options.max_steps = 2;
    return options;
}

/* An even number of stages, of 12,224 to 12,285 multiply-adds each. */
static void set_even_model(struct hr_train_options *options, size_t stages)
{
    char *text = options->model, *cut = options->stages;
    text += sprintf(text, "batchnorm, flatten");
    cut += sprintf(cut, "3,");
    for (size_t k = 0; k + 1 < stages; k++) {
        text += sprintf(text, ", dense %d", k % 2 ? 65 : 63);
        cut += k ? sprintf(cut, "1,") : 0;
    }
    sprintf(text, ", dense 56, dense 10");
    sprintf(cut, "2");
}

/* The bubble, which is the formula's. */
static double check_even(size_t K, size_t V, size_t M, const char *schedule)
{
    struct hr_train_options options = simulated(1);
    set_even_model(&options, K * V);
    options.pipeline = K;
    options.chunks = V;
    options.batch_size = options.micro_batches = M;
    snprintf(options.pipeline_schedule, sizeof options.pipeline_schedule, "%s", schedule);
    struct hr_run_result result = run_train(&options);
    const struct hr_pipeline_report *report = &result.pipeline;
    const double took = 0.010 * (double)result.updates;
    CHECK_NEAR(report->bubble, report->formula, 0, 0.005);
    CHECK_NEAR(result.compute_s, took / ((double)K * (1 - report->bubble)), 1e-6, 0);
    const double bubble = report->bubble;
    hr_run_result_free(&result);
    return bubble;
}

static void bubbles_are_within_half_a_point_of_the_formulas(void **state)
{
    (void)state;
    for (size_t K = 2; K <= 16; K *= 2)
        for (size_t M = 1; M <= 64; M *= check_count(8, 2)) {
            check_even(K, 1, M, "gpipe");
            const double bubble = check_even(K, 1, M, "1f1b");
            assert_true(check_even(K, 1, M, "zero-bubble") < bubble);
            if (M % K == 0)
                assert_true(check_even(K, 2, M, "interleaved") < bubble);
        }
}

static void sixty_four_stages_compute_the_gradient_of_one(void **state)
{
    (void)state;
    struct hr_train_options one = simulated(1), staged;
    char want[33];
    set_even_model(&one, 64);
    staged = one;
    one.stages[0] = '\0';
    snprintf(one.stages, sizeof one.stages, "auto");
    one.accumulate = 8;
    one.batch_size = 2;
    run_digest(&one, want);
    staged.pipeline = 64;
    staged.micro_batches = 8;
    staged.batch_size = 16;
    CHECK_DIGEST(&staged, want);
}

/* Two stages, with one micro-batch of 4 samples, 63 floats of each: a message there and one back,
 * each over two links of 1 MB/s and 1 ms. */
static void links_take_their_time(void **state)
{
    (void)state;
    struct hr_train_options options = simulated(2);
    set_even_model(&options, 2);
    options.pipeline = 2;
    options.batch_size = 4;
    options.micro_batches = 1;
    snprintf(options.topology, sizeof options.topology, "star:5");
    snprintf(options.link, sizeof options.link, "1MB/s,1ms");
    struct hr_run_result result = run_train(&options);
    const double message = 4 * 63 * 4 / 1e6 + 2 * 0.001;
    CHECK_NEAR(result.compute_s, (double)result.updates * 2 * (0.010 + 2 * message), 1e-6, 0);
    hr_run_result_free(&result);
    snprintf(options.topology, sizeof options.topology, "star:4");
    CHECK_FAILS(hr_train(&options, run_digits(), NULL, &result), HR_E_USAGE);
    CHECK_MESSAGE("expected at least 5, the workers and then the servers, and then the other "
                  "stages of each worker");
}

/* Every action once; a stage does one at a time; a backward comes behind its forward. In real time
 * a stage hands over before its action has ended. */
static void check_spans(const struct hr_pipeline_report *report, size_t K, size_t M, bool real)
{
    assert_int_equal(report->nspans, 2 * K * M);
    for (size_t i = 0; i < report->nspans; i++) {
        const struct hr_stage_span *span = &report->span[i];
        const bool goes_on = i > 0 && span[-1].stage == span->stage;
        assert_true(span->start_s >= 0 && span->end_s >= span->start_s);
        assert_true(!goes_on || span->start_s >= span[-1].end_s);
        for (size_t j = 0; j < i; j++) {
            const struct hr_stage_span *before = &report->span[j];
            const bool same = before->stage == span->stage;
            if (before->work == 'F' && before->micro_batch == span->micro_batch &&
                (span->work == 'F' || same))
                assert_true(span->start_s >= (real && !same ? before->start_s : before->end_s));
        }
    }
}

static void what_stages_did_when_is_told(void **state)
{
    (void)state;
    for (size_t real = 0; real < 2; real++) {
        struct hr_train_options options = simulated(2);
        if (real) {
            snprintf(options.clock, sizeof options.clock, "real");
            options.compute_time[0] = '\0';
        }
        snprintf(options.pipeline_schedule, sizeof options.pipeline_schedule, "1f1b");
        set_even_model(&options, 4);
        options.pipeline = 4;
        options.micro_batches = 8;
        struct hr_run_result result = run_train(&options);
        check_spans(&result.pipeline, 4, 8, real);
        hr_run_result_free(&result);
    }
}

static void a_stage_may_be_slow(void **state)
{
    (void)state;
    struct hr_train_options options = simulated(2);
    struct hr_run_result result;
    set_even_model(&options, 2);
    options.pipeline = 2;
    options.micro_batches = 1;
    snprintf(options.inject, sizeof options.inject, "slow:stage:1:1x3");
    result = run_train(&options);
    CHECK_NEAR(result.compute_s, (double)result.updates * (0.010 + 0.020), 0.005, 0);
    CHECK_NEAR(result.pipeline.stage[1].busy_s, 2 * result.pipeline.stage[0].busy_s, 0.01, 0);
    hr_run_result_free(&result);
    snprintf(options.inject, sizeof options.inject, "slow:stage:1:2x3");
    CHECK_FAILS(hr_train(&options, run_digits(), NULL, &result), HR_E_USAGE);
    CHECK_MESSAGE("stage 2: expected 0 to 1");
    snprintf(options.clock, sizeof options.clock, "real");
    options.compute_time[0] = '\0';
    CHECK_FAILS(hr_train(&options, run_digits(), NULL, &result), HR_E_USAGE);
    CHECK_MESSAGE("--inject slow:stage: not in real time");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bubbles_are_within_half_a_point_of_the_formulas),
        cmocka_unit_test(sixty_four_stages_compute_the_gradient_of_one),
        cmocka_unit_test(links_take_their_time),
        cmocka_unit_test(what_stages_did_when_is_told),
        cmocka_unit_test(a_stage_may_be_slow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
