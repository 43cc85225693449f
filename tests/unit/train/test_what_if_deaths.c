/* What a run would have been without the deaths that were recorded, or with another. */
#include <stdio.h>
#include <string.h>

#include "support/traces.h"

/* Four workers in virtual time. */
static void record(const char *on_loss, const char *inject)
{
    char digest[33];
    struct hr_train_options options = run_options("ps-async", 4);
    snprintf(options.model, sizeof options.model, "flatten, dense 10");
    snprintf(options.clock, sizeof options.clock, "virtual");
    snprintf(options.compute_time, sizeof options.compute_time, "10ms");
    snprintf(options.on_loss, sizeof options.on_loss, "%s", on_loss);
    snprintf(options.inject, sizeof options.inject, "%s", inject);
    options.epoch_size = 60 * options.batch_size;
    options.epochs = 1;
    scratch_stderr_begin();
    trace_record("t", options, digest);
    scratch_stderr_end();
}

/* In another order: server 0 first. */
static const char three[] = "kill:2@step=5,kill:1@step=7,kill:server:0@step=30";

static struct hr_run_result ask(const char *what)
{
    struct hr_replay *replay;
    struct hr_run_result result;
    CHECK_OK(hr_replay_open(scratch("t"), &replay));
    scratch_stderr_begin();
    CHECK_OK(hr_replay_what_if(replay, what, 0, run_digits(), NULL, &result));
    scratch_stderr_end();
    hr_replay_close(replay);
    return result;
}

static void refuse(const char *what, const char *text)
{
    struct hr_replay *replay;
    struct hr_run_result result;
    CHECK_OK(hr_replay_open(scratch("t"), &replay));
    CHECK_FAILS(hr_replay_what_if(replay, what, 0, run_digits(), NULL, &result), HR_E_USAGE);
    CHECK_MESSAGE(text);
    hr_replay_close(replay);
}

static void the_model_loses_whom_the_run_lost(void **state)
{
    (void)state;
    record("continue", three);
    struct hr_run_result result = ask("");
    assert_int_equal(result.nlosses, 3);
    assert_true(result.losses[0].server && result.losses[0].rank == 0);
    assert_true(result.losses[1].rank == 2 && result.losses[1].step == 5);
    assert_true(result.losses[2].rank == 1 && result.losses[2].step == 7);
    hr_run_result_free(&result);
}

/* All of 60 gradients of 10 ms by four workers, instead of by ever fewer. */
static void without_deaths_it_is_shorter(void **state)
{
    (void)state;
    record("continue", three);
    struct hr_run_result with = ask(""), without = ask("kill=none");
    assert_int_equal(without.nlosses, 0);
    CHECK_NEAR(without.seconds, 0.15, 1e-9, 0);
    assert_true(with.seconds > 1.3 * without.seconds);
    hr_run_result_free(&with);
    hr_run_result_free(&without);
}

static void another_death_happens_too(void **state)
{
    (void)state;
    record("stop", "");
    refuse("kill=none", "--what-if kill=none: the run lost nobody");
    struct hr_run_result result = ask("kill=3@4");
    assert_int_equal(result.nlosses, 1);
    assert_true(result.losses[0].rank == 3 && result.losses[0].step == 4);
    hr_run_result_free(&result);
    result = ask("kill=server:0@9");
    assert_int_equal(result.nlosses, 1);
    assert_true(result.losses[0].server);
    hr_run_result_free(&result);
}

static void what_is_no_death_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"kill=4@1", "kill=1",          "kill=1@",
                                        "kill=@3",  "kill=server:1@2", "kill=server:0"};
    record("stop", "");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refuse(wrong[i], "expected kill=none, kill=R@N (worker R, below 4, dies at its step N)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_model_loses_whom_the_run_lost, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(without_deaths_it_is_shorter, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(another_death_happens_too, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(what_is_no_death_is_refused, scratch_setup,
                                        scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
