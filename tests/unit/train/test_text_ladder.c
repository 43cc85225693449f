/* The ladder with a language model, a small gpt-nano with dropout: however its work is shared out,
 * played, interrupted or cut, runs that must be the same run end with the same bits. */
#include <stdio.h>
#include <string.h>

#include "support/runs.h"

static const char GPT[] =
    "embedding 16, dropout 0.1, position, repeat 2 (residual (layernorm, attention 4, dropout 0.1),"
    " residual (layernorm, dense 32, gelu, dense 16, dropout 0.1)), layernorm, tied";

static struct hr_train_options gpt(const char *strategy, size_t workers)
{
    struct hr_train_options options = run_options(strategy, workers);
    snprintf(options.model, sizeof options.model, "%s", GPT);
    snprintf(options.optimizer, sizeof options.optimizer, "adamw");
    options.lr = 0.003;
    options.momentum = 0;
    options.clip_norm = 0.5;
    options.batch_size = 4;
    options.max_steps = 6;
    options.timeout = 20;
    return options;
}

static void set(char *option, size_t size, const char *value)
{
    snprintf(option, size, "%s", value);
}
#define SET(option, value) set(option, sizeof(option), value)

/* As threads, as processes, in virtual time, in an order that is drawn, by two threads each. */
static void check_engines(const struct hr_train_options *options, const char *want)
{
    struct hr_train_options other = *options;
    SET(other.launch, "process");
    CHECK_DIGEST(&other, want);
    other = *options;
    SET(other.clock, "virtual");
    CHECK_DIGEST(&other, want);
    other = *options;
    SET(other.schedule, "explore:5");
    CHECK_DIGEST(&other, want);
    other = *options;
    other.threads_per_worker = 2;
    CHECK_DIGEST(&other, want);
}

static void engines_and_resumed_runs_have_the_same_bits(void **state)
{
    (void)state;
    static const char *const strategies[] = {"allreduce", "ps-sync", "local-sgd", "gossip"};
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        struct hr_train_options options = gpt(strategies[i], 3);
        char want[33];
        run_digest(&options, want);
        check_engines(&options, want);
        options.max_steps = 0;
        options.epochs = 1;
        run_digest(&options, want);
        run_check_resume(options, 5, want);
    }
}

static void one_worker_is_serial_whatever_the_strategy(void **state)
{
    (void)state;
    static const char *const all[] = {"ps-sync", "ps-async", "ssp", "hogwild", "local-sgd"};
    struct hr_train_options options = gpt("allreduce", 1);
    char want[33];
    run_digest(&options, want);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        options = gpt(all[i], 1);
        CHECK_DIGEST(&options, want);
    }
}

static void asynchronous_runs_are_repeated(void **state)
{
    (void)state;
    static const char *const all[] = {"ps-async", "ssp", "hogwild"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        run_check_replay(gpt(all[i], 3));
}

static void a_reproducible_sum_has_the_same_bits_for_any_workers(void **state)
{
    (void)state;
    char want[33];
    for (size_t workers = 1; workers <= 4; workers *= 2) {
        struct hr_train_options options = gpt("allreduce", workers);
        SET(options.reduce, "repro");
        options.micro_shards = 4;
        options.global_batch_size = 16;
        if (workers == 1)
            run_digest(&options, want);
        CHECK_DIGEST(&options, want);
    }
}

/* The embedding in the first stage, the layer tied to it in the last. */
static void pipelines_are_one_worker_that_accumulates(void **state)
{
    (void)state;
    static const char *const schedules[] = {"gpipe", "1f1b", "interleaved", "zero-bubble"};
    struct hr_train_options one = gpt("allreduce", 2);
    char want[33];
    one.batch_size = 2;
    one.accumulate = 4;
    run_digest(&one, want);
    for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++)
        for (size_t K = 1; K <= 4; K *= 2) {
            struct hr_train_options options = gpt("allreduce", 2);
            options.chunks = strcmp(schedules[i], "interleaved") ? 1 : 2;
            options.batch_size = 8;
            options.pipeline = K;
            options.micro_batches = 4;
            options.recompute = K == 4;
            SET(options.pipeline_schedule, schedules[i]);
            if (options.chunks * K == 8) /* more parts than there are */
                continue;
            CHECK_DIGEST(&options, want);
            if (K == 2)
                check_engines(&options, want);
        }
}

static void tied_stages_that_never_drain_are_refused(void **state)
{
    (void)state;
    struct hr_train_options options = gpt("allreduce", 1);
    struct hr_run_result result;
    options.clip_norm = 0;
    options.pipeline = 2;
    SET(options.pipeline_schedule, "pipedream");
    CHECK_FAILS(hr_train(&options, run_text(), NULL, &result), HR_E_USAGE);
    CHECK_MESSAGE("tied to the embedding");
}

static void shards_are_the_same_whoever_computes_them(void **state)
{
    (void)state;
    struct hr_train_options options = gpt("allreduce", 2);
    char want[33];
    options.tensor_shards = 4;
    options.accumulate = 2;
    run_digest(&options, want);
    for (size_t T = 1; T <= 4; T *= 2)
        for (size_t K = 0; K <= 2; K += 2) {
            options = gpt("allreduce", 2);
            options.tensor_parallel = T;
            options.tensor_shards = 4;
            options.pipeline = K;
            if (K) {
                options.batch_size = 8;
                options.micro_batches = 2;
            } else {
                options.accumulate = 2;
            }
            CHECK_DIGEST(&options, want);
            SET(options.launch, "process");
            CHECK_DIGEST(&options, want);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engines_and_resumed_runs_have_the_same_bits),
        cmocka_unit_test(one_worker_is_serial_whatever_the_strategy),
        cmocka_unit_test(asynchronous_runs_are_repeated),
        cmocka_unit_test(a_reproducible_sum_has_the_same_bits_for_any_workers),
        cmocka_unit_test(pipelines_are_one_worker_that_accumulates),
        cmocka_unit_test(tied_stages_that_never_drain_are_refused),
        cmocka_unit_test(shards_are_the_same_whoever_computes_them),
    };
    run_on(run_text());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
