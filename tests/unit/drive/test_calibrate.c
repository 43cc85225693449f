/* What is written down of a run: the models that its samples were made from. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "netsim/delay.h"
#include "support/check.h"
#include "support/scratch.h"
#include "drive/driver.h"
#include "server/server.h"
#include "strategies/strategies.h"

enum { WORKERS = 3, SERVERS = 1, STEPS = 2000, MS = 1000 * 1000 };

struct measured {
    struct hr_train_options options;
    struct hr_shared_state shared;
    struct hr_train_job job;
    struct hr_drive drive;
    struct hr_run_result result;
};

/* A run of which nothing is there but what calibration needs. */
static struct measured *measured(const char *strategy, size_t servers)
{
    struct measured *run = calloc(1, sizeof *run);
    run->job = (struct hr_train_job){.options = &run->options, .shared = &run->shared};
    run->drive.job = &run->job;
    run->drive.result = &run->result;
    snprintf(run->options.strategy, sizeof run->options.strategy, "%s", strategy);
    CHECK_OK(hr_strategy_find(strategy, 3, &run->shared.strategy));
    snprintf(run->options.calibrate, sizeof run->options.calibrate, "%s", scratch("model.ini"));
    run->shared.workers = WORKERS;
    run->shared.servers = servers;
    run->job.nranks = WORKERS + servers;
    unsigned char *memory =
        aligned_alloc(HR_LINE, hr_round_up(hr_calibration_bytes(&run->job), HR_LINE));
    memset(memory, 0, hr_calibration_bytes(&run->job));
    hr_calibration_place(&run->drive, memory);
    return run;
}

static void discard(struct measured *run)
{
    free(run->drive.calibration.compute);
    free(run);
}

static void fill(struct hr_durations *samples, const char *model, size_t rank, double factor)
{
    struct hr_delay delay;
    CHECK_OK(hr_delay_parse("", model, &delay));
    for (samples->seen = 0; samples->seen < STEPS; samples->seen++)
        samples->ns[samples->seen] =
            (int64_t)(factor * (double)hr_delay_ps(&delay, 1, rank, samples->seen) / 1e3);
}

/* The value of an option in the file that was written; "" when it is not there. */
static void read_option(const char *name, char value[256])
{
    char line[300];
    FILE *file = fopen(scratch("model.ini"), "r");
    assert_non_null(file);
    value[0] = 0;
    while (fgets(line, sizeof line, file)) {
        assert_true(strlen(line) < 200); /* more, inih does not read */
        const size_t length = strlen(name);
        if (!strncmp(line, name, length) && !strncmp(line + length, " = ", 3))
            snprintf(value, 256, "%.*s", (int)strcspn(line + length + 3, "\n"), line + length + 3);
    }
    fclose(file);
}

static void a_run_is_written_down_as_the_models_it_was_made_from(void **state)
{
    (void)state;
    char text[256];
    struct hr_delay compute;
    struct measured *run = measured("ps-async", SERVERS);
    for (size_t w = 0; w < WORKERS; w++)
        fill(&run->drive.calibration.compute[w], "lognormal(4ms,0.1)", w, w == 1 ? 3 : 1);
    fill(&run->drive.calibration.served[HR_SENT_PULL], "20us", 0, 1);
    fill(&run->drive.calibration.served[HR_SENT_PUSH], "20us", 0, 1);
    for (size_t r = 0; r < run->job.nranks; r++)
        fill(&run->drive.calibration.noticed[r], r % 2 ? "8us" : "12us", 0, 1);
    CHECK_OK(hr_calibrate_write(&run->drive));
    read_option("compute-time", text);
    CHECK_OK(hr_delay_parse("", text, &compute));
    assert_int_equal(compute.kind, HR_DELAY_LOGNORMAL);
    CHECK_NEAR((double)compute.time_ps, 4e9, 0.01, 0);
    CHECK_NEAR(compute.shape, 0.1, 0.05, 0);
    read_option("inject", text);
    assert_memory_equal(text, "slow:1x", 7);
    CHECK_NEAR(atof(text + 7), 3, 0.02, 0);
    assert_null(strchr(text, ','));
    read_option("server-time", text);
    assert_string_equal(text, "constant(20us)");
    read_option("link", text);
    assert_string_equal(text, "1000GB/s,5us");
    discard(run);
}

static void post(struct measured *run, size_t worker, uint64_t bytes)
{
    const struct hr_posted what = {.from = worker, .to = WORKERS, .bytes = bytes};
    assert_false(run->shared.posted(run->shared.posted_arg, &what));
}

/* Each has its own times: those of its message's coming, and of its own service. */
static void pulls_and_pushes_are_timed_apart(void **state)
{
    (void)state;
    struct measured *run = measured("ps-async", SERVERS);
    const struct hr_calibration *kept = &run->drive.calibration;
    const struct hr_durations *pulls = &kept->served[HR_SENT_PULL],
                              *pushes = &kept->served[HR_SENT_PUSH];
    const struct hr_durations *noticed = &kept->noticed[WORKERS];
    struct hr_shard shard = {.number = 0, .taken = {.kind = HR_PULL, .worker = 1}};
    const int64_t before = hr_clock_ns();
    post(run, 1, sizeof(struct hr_message));
    /* The server waited since long ago, and began 5 s after the pull came; service ends now. */
    hr_calibrate_take(&run->drive, &shard, before - MS, before + 5000 * (int64_t)MS);
    assert_int_equal(pulls->seen, 1);
    assert_int_equal(pushes->seen, 0);
    assert_int_equal(noticed->seen, 1);
    assert_true(noticed->ns[0] > 4000 * (int64_t)MS && noticed->ns[0] <= 5000 * (int64_t)MS);
    assert_true(pulls->ns[0] < -4000 * (int64_t)MS && pulls->ns[0] >= -5000 * (int64_t)MS);
    /* A push that lay there when the server came to look: served since then, and not noticed. */
    post(run, 1, sizeof(struct hr_message) + 1);
    shard.taken.kind = HR_PUSH;
    const int64_t since = hr_clock_ns() + 1;
    while (hr_clock_ns() <= since)
        continue;
    hr_calibrate_take(&run->drive, &shard, since, since + 5000 * (int64_t)MS);
    assert_int_equal(pulls->seen, 1);
    assert_int_equal(pushes->seen, 1);
    assert_int_equal(noticed->seen, 1);
    assert_true(pushes->ns[0] >= 0 && pushes->ns[0] < 4000 * (int64_t)MS);
    /* What is neither has no time. */
    shard.taken.kind = HR_DUPLICATE;
    hr_calibrate_take(&run->drive, &shard, since, since);
    assert_int_equal(pulls->seen + pushes->seen, 2);
    discard(run);
}

static void pulls_and_pushes_are_written_apart(void **state)
{
    (void)state;
    char text[4096] = "";
    struct measured *run = measured("ps-async", SERVERS);
    for (size_t w = 0; w < WORKERS; w++)
        fill(&run->drive.calibration.compute[w], "4ms", w, 1);
    fill(&run->drive.calibration.served[HR_SENT_PULL], "20us", 0, 1);
    fill(&run->drive.calibration.served[HR_SENT_PUSH], "60us", 0, 1);
    run->drive.calibration.served[HR_SENT_PULL].seen = STEPS / 4;
    CHECK_OK(hr_calibrate_write(&run->drive));
    FILE *file = fopen(scratch("model.ini"), "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_non_null(strstr(text, "\n# 500 pulls, mean 20 us\n"));
    assert_non_null(strstr(text, "\n# 2000 pushes, mean 60 us\n"));
    discard(run);
}

/* One step of each worker says nothing about who is slow. */
static void too_few_steps_make_no_straggler(void **state)
{
    (void)state;
    char text[256];
    struct measured *run = measured("hogwild", 0);
    for (size_t w = 0; w < WORKERS; w++) {
        run->drive.calibration.compute[w].ns[0] = w == 1 ? 600000 : 200000;
        run->drive.calibration.compute[w].seen = 1;
    }
    CHECK_OK(hr_calibrate_write(&run->drive));
    read_option("inject", text);
    assert_string_equal(text, "");
    discard(run);
}

/* The durations that a model of the text names, as a configuration has them read: beside it. */
static void read_trace_of(const char *text, struct hr_delay *back)
{
    char found[256];
    snprintf(found, sizeof found, "trace:%s", scratch(text + strlen("trace:")));
    CHECK_OK(hr_delay_parse("", found, back));
}

static double mean_of(const struct hr_delay *trace)
{
    double sum = 0;
    for (size_t i = 0; i < trace->nsamples; i++)
        sum += (double)trace->samples[i];
    return sum / (double)trace->nsamples;
}

/* Durations that no lognormal gives go to a file, which is read back. */
static void what_fits_no_model_is_kept_as_it_is(void **state)
{
    (void)state;
    char text[256];
    struct hr_delay back;
    struct measured *run = measured("hogwild", 0);
    for (size_t w = 0; w < WORKERS; w++)
        fill(&run->drive.calibration.compute[w], "uniform(1ms,9ms)", w, 1);
    CHECK_OK(hr_calibrate_write(&run->drive));
    read_option("compute-time", text);
    assert_string_equal(text, "trace:model.ini.compute"); /* beside it, wherever that is */
    read_trace_of(text, &back);
    assert_int_equal(back.nsamples, WORKERS * STEPS);
    CHECK_NEAR(mean_of(&back), 5e9, 0.02, 0);
    hr_delay_fini(&back);
    read_option("link", text);
    assert_string_equal(text, "");
    discard(run);
}

/* Replicas in step, of which the first comes last: what the others waited until then is not theirs.
 */
static void an_exchange_is_what_is_waited_after_the_last_has_come(void **state)
{
    (void)state;
    char text[256];
    struct measured *run = measured("allreduce", 0);
    for (size_t w = 0; w < WORKERS; w++) {
        fill(&run->drive.calibration.compute[w], "5ms", w, 1);
        fill(&run->drive.calibration.idle[w], "2ms", w, (double)(w + 1));
        for (size_t i = 0; i < STEPS; i++)
            run->drive.calibration.came[w].ns[i] = 10 * (int64_t)i * MS - 2 * (int64_t)w * MS;
    }
    CHECK_OK(hr_calibrate_write(&run->drive));
    read_option("compute-time", text);
    assert_string_equal(text, "constant(7ms)");
    discard(run);
}

/* Worker 0 is woken 4 ms late in every fourth step, so that the others wait for it in the next. */
static void being_woken_late_is_part_of_a_step(void **state)
{
    (void)state;
    char text[256];
    struct hr_delay back;
    struct measured *run = measured("allreduce", 0);
    for (size_t w = 0; w < WORKERS; w++)
        for (size_t i = 0; i < STEPS; i++) {
            const bool late = w == 0 && i % 4 == 0, waits = w > 0 && i % 4 == 1;
            run->drive.calibration.compute[w].ns[i] = 5 * MS;
            run->drive.calibration.idle[w].ns[i] = late || waits ? 4 * MS : 0;
            run->drive.calibration.came[w].ns[i] = (20 * (int64_t)i - (waits ? 4 : 0)) * MS;
            run->drive.calibration.compute[w].seen = STEPS;
        }
    CHECK_OK(hr_calibrate_write(&run->drive));
    read_option("compute-time", text);
    read_trace_of(text, &back);
    assert_int_equal(back.nsamples, WORKERS * STEPS);
    CHECK_NEAR(mean_of(&back), (5 + 4.0 / (4 * WORKERS)) * 1e9, 1e-9, 0);
    hr_delay_fini(&back);
    discard(run);
}

/* Local steps, in which nobody waits for anybody. */
static void who_waits_for_nobody_waits_for_no_exchange(void **state)
{
    (void)state;
    char text[256];
    struct measured *run = measured("allreduce", 0);
    for (size_t w = 0; w < WORKERS; w++) {
        fill(&run->drive.calibration.compute[w], "5ms", w, 1);
        for (size_t i = 0; i < STEPS; i++)
            run->drive.calibration.came[w].ns[i] = (10 * (int64_t)i + 3 * (int64_t)w) * MS;
    }
    CHECK_OK(hr_calibrate_write(&run->drive));
    read_option("compute-time", text);
    assert_string_equal(text, "constant(5ms)");
    discard(run);
}

/* A long run is known by its last steps. */
static void only_the_last_steps_are_kept(void **state)
{
    (void)state;
    char text[256];
    struct measured *run = measured("hogwild", 0);
    struct hr_durations *samples = &run->drive.calibration.compute[0];
    samples->seen = 3 * HR_SAMPLES_KEPT + 1;
    for (size_t i = 0; i < HR_SAMPLES_KEPT; i++)
        samples->ns[i] = 6 * MS;
    for (size_t w = 1; w < WORKERS; w++)
        fill(&run->drive.calibration.compute[w], "6ms", w, 1);
    CHECK_OK(hr_calibrate_write(&run->drive));
    read_option("compute-time", text);
    assert_string_equal(text, "constant(6ms)");
    discard(run);
}

static void a_run_without_steps_is_no_model(void **state)
{
    (void)state;
    struct measured *run = measured("ps-async", SERVERS);
    CHECK_FAILS(hr_calibrate_write(&run->drive), HR_E_FAILED);
    assert_false(scratch_exists("model.ini"));
    discard(run);
}

static void a_file_that_cannot_be_is_refused_at_the_start(void **state)
{
    (void)state;
    struct measured *run = measured("ps-async", SERVERS);
    char *path = run->options.calibrate;
    CHECK_OK(hr_calibrate_check(&run->job));
    snprintf(path, sizeof run->options.calibrate, "%s", scratch("none/model.ini"));
    CHECK_FAILS(hr_calibrate_check(&run->job), HR_E_IO);
    CHECK_MESSAGE("none/model.ini: cannot be written");
    snprintf(path, sizeof run->options.calibrate, "a model");
    CHECK_FAILS(hr_calibrate_check(&run->job), HR_E_USAGE);
    snprintf(path, sizeof run->options.calibrate, "%0200d", 7);
    CHECK_FAILS(hr_calibrate_check(&run->job), HR_E_USAGE);
    discard(run);
}

/* Two stages of 5 s of work each, one of it computed again, in 6 s: 3 s more than the step took,
 * and once only. */
static void stages_are_timed_as_one_rank(void **state)
{
    (void)state;
    enum { S = 1000 * MS };
    struct measured *run = measured("allreduce", 0);
    struct hr_pipeline pipeline = {.ranks = 2, .members = 2};
    struct hr_stage_account accounts[2 * WORKERS] = {
        [2] = {.busy_ns = 5 * (int64_t)S, .span_ns = 6 * (int64_t)S},
        [3] = {.busy_ns = 5 * (int64_t)S, .again_ns = S},
    };
    const struct hr_durations *compute = &run->drive.calibration.compute[1];
    run->job.pipeline = &pipeline;
    run->job.stage_accounts = accounts;
    const int64_t now = hr_clock_ns();
    const struct hr_step_times times = {.accepted_ns = now - S, .idle_ns = S};
    const int64_t next = hr_calibrate_step(&run->drive, 1, &times, false);
    assert_true(next >= now);
    assert_true(compute->ns[0] >= 3 * (int64_t)S);
    assert_true(hr_calibrate_step(&run->drive, 1, &times, true) == 0);
    assert_true(compute->ns[1] - compute->ns[0] <= hr_clock_ns() - now - 3 * (int64_t)S);
    discard(run);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(pulls_and_pushes_are_timed_apart),
        TEST(pulls_and_pushes_are_written_apart),
        TEST(a_run_is_written_down_as_the_models_it_was_made_from),
        TEST(too_few_steps_make_no_straggler),
        TEST(what_fits_no_model_is_kept_as_it_is),
        TEST(an_exchange_is_what_is_waited_after_the_last_has_come),
        TEST(being_woken_late_is_part_of_a_step),
        TEST(who_waits_for_nobody_waits_for_no_exchange),
        TEST(only_the_last_steps_are_kept),
        TEST(a_run_without_steps_is_no_model),
        TEST(a_file_that_cannot_be_is_refused_at_the_start),
        TEST(stages_are_timed_as_one_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
