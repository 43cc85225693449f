/* Recorded runs that lose ranks and are asked to stop, or end early: their replays end there, too.
 */
#include <stdio.h>
#include <string.h>

#include "drive/record.h"
#include "support/traces.h"

static const char *const strategies[] = {
    "ps-async", "ssp", "elastic-averaging", "backup-workers", "ps-sync", "allreduce", "local-sgd"};
enum { STRATEGIES = sizeof strategies / sizeof *strategies, SERVED = 5 };

static struct hr_train_options options_of(const char *strategy, const char *inject)
{
    struct hr_train_options options = run_options(strategy, 3);
    snprintf(options.model, sizeof options.model, "flatten, dense 10");
    snprintf(options.on_loss, sizeof options.on_loss, "restart");
    snprintf(options.inject, sizeof options.inject, "%s", inject);
    snprintf(options.record, sizeof options.record, "%s", scratch("run.trace"));
    options.epochs = 2;
    options.max_restarts = 100;
    options.epoch_size = 192;
    options.batch_size = 4;
    return options;
}

static void evaluated(void *stop, const struct hr_curve_point *point)
{
    (void)point;
    *(int *)stop = 1;
}

static int should_stop(void *stop)
{
    return *(const int *)stop;
}

/* At the end of its first epoch: it comes to the same cut once more. */
static void a_run_that_was_stopped_behind_a_cut_is_replayed(void **state)
{
    (void)state;
    static const char *const stopped[] = {"hogwild", "ps-async", "elastic-averaging",
                                          "backup-workers"};
    for (size_t i = 0; i < sizeof stopped / sizeof *stopped; i++) {
        int stop = 0;
        const struct hr_observer observer = {
            .arg = &stop, .evaluated = evaluated, .should_stop = should_stop};
        struct hr_train_options options = options_of(stopped[i], "kill:1@step=2");
        snprintf(options.schedule, sizeof options.schedule, "explore:1");
        struct hr_run_result result;
        scratch_stderr_begin();
        CHECK_OK(hr_train(&options, run_digits(), &observer, &result));
        assert_true(result.interrupted && result.nlosses == 1 && result.ncurve == 1);
        check_replay_of(&result, "run.trace");
        scratch_stderr_end();
        hr_run_result_free(&result);
    }
}

/* In its second epoch; a server dies when some have heard of it, and all go back, and end there. */
static void a_run_that_was_asked_to_stop_and_went_back_is_replayed(void **state)
{
    (void)state;
    size_t earlier = 0;
    for (size_t i = 0; i < 4 * SERVED; i++) {
        struct hr_train_options options = options_of(strategies[i % SERVED], "");
        snprintf(options.inject, sizeof options.inject, "kill:server:0@time=%zuus",
                 30050 + 400 * (i / SERVED));
        snprintf(options.clock, sizeof options.clock, "virtual");
        snprintf(options.compute_time, sizeof options.compute_time, "lognormal(1ms, 0.3)");
        options.max_seconds = 0.03;
        options.seed = i;
        struct hr_run_result result;
        scratch_stderr_begin();
        CHECK_OK(hr_train(&options, run_digits(), NULL, &result));
        assert_true(result.steps < 96);
        earlier += result.nlosses == 1 && result.losses[0].again_samples > result.samples % 192;
        check_replay_of(&result, "run.trace");
        scratch_stderr_end();
        hr_run_result_free(&result);
    }
    assert_true(earlier > SERVED);
}

static void a_run_that_ends_early_is_replayed(void **state)
{
    (void)state;
    for (size_t i = 0; i < STRATEGIES; i++) {
        struct hr_train_options options = options_of(strategies[i], "kill:1@step=5");
        snprintf(options.schedule, sizeof options.schedule, "explore:1");
        snprintf(options.early_stop, sizeof options.early_stop, "loss,1,100");
        options.epochs = 40;
        struct hr_run_result result;
        scratch_stderr_begin();
        CHECK_OK(hr_train(&options, run_digits(), NULL, &result));
        assert_true(result.best.stopped && result.nlosses == 1);
        check_replay_of(&result, "run.trace");
        scratch_stderr_end();
        hr_run_result_free(&result);
    }
}

/* By --max-steps, in its first epoch or its second. */
static void a_replay_that_is_cut_short_ends_there(void **state)
{
    (void)state;
    for (size_t i = 0; i < STRATEGIES; i++) {
        struct hr_train_options options = options_of(strategies[i], "kill:any@p=0.006x3");
        snprintf(options.schedule, sizeof options.schedule, "explore:%zu", i);
        if (i < SERVED)
            strcat(options.inject, ",kill:server:any@p=0.002x2");
        scratch_stderr_begin();
        struct hr_run_result result = run_train(&options);
        const uint64_t steps = result.steps;
        hr_run_result_free(&result);
        for (uint64_t end = 1; end < steps; end += 1 + steps / 7) {
            struct hr_replay *replay;
            CHECK_OK(hr_replay_open(scratch("run.trace"), &replay));
            replay->options.max_steps = end;
            CHECK_OK(hr_replay_run(replay, run_digits(), NULL, &result));
            assert_int_equal(result.steps, end);
            hr_run_result_free(&result);
            hr_replay_close(replay);
        }
        scratch_stderr_end();
    }
}

/* As if the server that was lost at the run's beginning had been lost at its end. */
static void behind_the_last_cut(struct hr_trace_entry *entries, size_t n)
{
    const struct hr_trace_entry cut = entries[n - 1];
    memmove(entries + 1, entries, (n - 1) * sizeof *entries);
    entries[0] = cut;
    for (size_t i = 1; i < n; i++) {
        if (entries[i].kind == HR_MEMBERSHIP_AT)
            entries[i].step = entries[i].value = 1000;
        if (entries[i].kind == HR_MEMBERSHIP_LOST)
            entries[i].value = 1000;
        if (entries[i].kind == HR_MEMBERSHIP_TERM)
            entries[i].value = cut.value / 2;
    }
}

static void a_server_that_comes_back_behind_the_last_cut_is_replayed(void **state)
{
    (void)state;
    const struct trace_edit edit = {.change = behind_the_last_cut, .owner = 1};
    struct hr_train_options options = options_of("ps-async", "kill:server:0@step=0");
    struct hr_replay *replay;
    struct hr_run_result result;
    snprintf(options.schedule, sizeof options.schedule, "explore:1");
    options.epochs = options.servers = 1;
    struct hr_run_result recorded = run_train(&options);
    hr_run_result_free(&recorded);
    trace_rewrite("run.trace", "last", &edit);
    CHECK_OK(hr_replay_open(scratch("last"), &replay));
    scratch_stderr_begin();
    CHECK_OK(hr_replay_run(replay, run_digits(), NULL, &result));
    scratch_stderr_end();
    assert_int_equal(result.restarts, 1);
    assert_true(result.nlosses == 1 && result.losses[0].rolled_back && result.losses[0].back);
    hr_run_result_free(&result);
    hr_replay_close(replay);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_run_that_was_stopped_behind_a_cut_is_replayed,
                                        scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(a_run_that_was_asked_to_stop_and_went_back_is_replayed,
                                        scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(a_run_that_ends_early_is_replayed, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(a_replay_that_is_cut_short_ends_there, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(a_server_that_comes_back_behind_the_last_cut_is_replayed,
                                        scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
