/* The whole rung of pipelines: networks of images, cut into as many stages as their layers allow,
 * under every synchronous schedule, on threads, explored and in virtual time, end with the bits of
 * one worker that accumulates as many micro-batches. A sample of the grid; all of it at full
 * counts. */
#include <stdio.h>
#include <string.h>

#include "pipeline/schedule.h"
#include "support/runs.h"

enum { MICRO = 2, STEPS = 3 };

static const char *const models[] = {"mlp", "cnn", "resnet8"};
static const char *const engines[] = {"threads", "explore", "virtual"};
static size_t points, runs; /* of the grid; those that ran */

static struct hr_train_options of_model(const char *model)
{
    struct hr_train_options options = run_options("allreduce", 1);
    snprintf(options.model, sizeof options.model, "%s", model);
    options.max_steps = STEPS;
    return options;
}

static void accumulated(const char *model, size_t M, char want[33])
{
    struct hr_train_options one = of_model(model);
    one.batch_size = MICRO;
    one.accumulate = M;
    run_digest(&one, want);
}

static struct hr_train_options staged(const char *model, const char *schedule, size_t K, size_t M)
{
    struct hr_train_options options = of_model(model);
    options.batch_size = MICRO * M;
    options.pipeline = K;
    options.micro_batches = M;
    options.chunks = strcmp(schedule, "interleaved") ? 1 : 2;
    snprintf(options.pipeline_schedule, sizeof options.pipeline_schedule, "%s", schedule);
    return options;
}

static void set_engine(struct hr_train_options *options, const char *engine)
{
    if (!strcmp(engine, "explore"))
        snprintf(options->schedule, sizeof options->schedule, "explore:%zu", points);
    if (!strcmp(engine, "virtual"))
        snprintf(options->clock, sizeof options->clock, "virtual");
}

static bool can_be(const struct hr_train_options *options)
{
    struct hr_train_options none = *options;
    struct hr_run_result result;
    none.max_steps = 1;
    const enum hr_status status = hr_train(&none, run_digits(), NULL, &result);
    if (status == HR_OK)
        hr_run_result_free(&result);
    else
        assert_int_equal(status, HR_E_USAGE);
    return status == HR_OK;
}

static bool is_of_the_sample(void)
{
    return points++ % check_count(13, 1) == 0;
}

static void check_engines(const char *model, const char *schedule, size_t K, size_t M,
                          const char *want)
{
    for (size_t e = 0; e < sizeof engines / sizeof *engines; e++) {
        struct hr_train_options options = staged(model, schedule, K, M);
        if (!is_of_the_sample())
            continue;
        set_engine(&options, engines[e]);
        CHECK_DIGEST(&options, want);
        runs++;
    }
}

/* As many as the layers allow. */
static size_t most_stages(const char *model)
{
    size_t K = 1;
    for (struct hr_train_options more = staged(model, "gpipe", K + 1, 1); can_be(&more);)
        more.pipeline = ++K + 1;
    return K;
}

static void check_model(const char *model)
{
    const size_t most = most_stages(model);
    const struct hr_pipeline_schedule *schedule;
    assert_true(most >= 3);
    for (size_t M = 1; M <= 8; M *= 2) {
        char want[33];
        accumulated(model, M, want);
        for (size_t K = 2; K <= most; K++)
            for (size_t i = 0; (schedule = hr_pipeline_schedule_at(i)) != NULL; i++) {
                const bool two = schedule == &hr_schedule_interleaved;
                if (schedule->synchronous && (!two || (M % K == 0 && 2 * K <= most)))
                    check_engines(model, schedule->name, K, M, want);
            }
    }
    print_message("%s: up to %zu stages\n", model, most);
}

static void any_cut_schedule_and_engine_gives_the_bits_of_one_worker(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        check_model(models[i]);
    print_message("%zu runs of %zu\n", runs, points);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_cut_schedule_and_engine_gives_the_bits_of_one_worker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
