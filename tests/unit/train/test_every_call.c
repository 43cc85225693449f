/* Runs that train, save and record, while each call for memory or on files fails in turn. No run
 * ends well with other weights than it should have, and what it leaves on disk loads or is refused.
 *
 * Threads take turns in any order, so that the n-th call is not always the same one: what holds
 * holds for whichever it is.
 */
#include <stdio.h>

#include "hogring/checkpoint.h"
#include "hogring/replay.h"
#include "support/every_call.h"
#include "support/runs.h"
#include "support/scratch.h"

static char digest[33], dir[512], trace[512];

static enum hr_status train(const struct hr_train_options *options)
{
    struct hr_run_result result;
    char found[33];
    HR_TRY(hr_train(options, run_digits(), NULL, &result));
    memcpy(found, result.weights_digest, sizeof found);
    hr_run_result_free(&result);
    if (!digest[0])
        memcpy(digest, found, sizeof digest);
    assert_string_equal(found, digest);
    return HR_OK;
}

static struct hr_train_options few_steps(size_t workers)
{
    struct hr_train_options options = run_options("allreduce", workers);
    options.max_steps = 3;
    return options;
}

static enum hr_status train_alone(void)
{
    const struct hr_train_options options = few_steps(1);
    return train(&options);
}

static enum hr_status train_together(void)
{
    const struct hr_train_options options = few_steps(2);
    return train(&options);
}

static enum hr_status train_and_save(void)
{
    struct hr_train_options options = few_steps(1);
    options.checkpoint_every.steps = 2;
    options.overwrite = true;
    snprintf(options.checkpoint_dir, sizeof options.checkpoint_dir, "%s", dir);
    return train(&options);
}

static void checkpoint_is_whole(void)
{
    struct hr_checkpoint found;
    if (!hr_checkpoint_any(dir))
        return;
    CHECK_OK(hr_checkpoint_load(dir, &found));
    assert_true(found.step >= 2 && found.step <= 3);
    hr_checkpoint_free(&found);
}

static enum hr_status train_and_record(void)
{
    struct hr_train_options options = few_steps(1);
    snprintf(options.record, sizeof options.record, "%s", trace);
    return train(&options);
}

/* A trace that opens gives the same weights. */
static void trace_is_whole(void)
{
    struct hr_replay *replay;
    struct hr_run_result result;
    if (hr_replay_open(trace, &replay) != HR_OK)
        return;
    CHECK_OK(hr_replay_run(replay, run_digits(), NULL, &result));
    assert_string_equal(result.weights_digest, digest);
    hr_run_result_free(&result);
    hr_replay_close(replay);
}

static enum hr_status replay(void)
{
    struct hr_replay *replay;
    struct hr_run_result result;
    char found[33];
    HR_TRY(hr_replay_open(trace, &replay));
    const enum hr_status status = hr_replay_run(replay, run_digits(), NULL, &result);
    hr_replay_close(replay);
    HR_TRY(status);
    memcpy(found, result.weights_digest, sizeof found);
    hr_run_result_free(&result);
    assert_string_equal(found, digest);
    return HR_OK;
}

static const struct task tasks[] = {
    {"one worker", train_alone, NULL},
    {"two workers", train_together, NULL},
    {"with checkpoints", train_and_save, checkpoint_is_whole},
    {"recorded", train_and_record, trace_is_whole},
    {"replayed", replay, NULL},
};

/* From the first task on that has such calls. */
static void fail_all(unsigned kind, size_t first, int error)
{
    size_t calls = 0;
    snprintf(dir, sizeof dir, "%s", scratch("d"));
    snprintf(trace, sizeof trace, "%s", scratch("trace"));
    scratch_stderr_begin();
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        if (tasks[i].run != replay)
            digest[0] = 0;
        if (i >= first)
            calls += fail_every_call(&tasks[i], kind, error, check_count(17, 1));
    }
    scratch_stderr_end();
    print_message("%zu calls fail in turn\n", calls);
}

static void without_memory_a_status_says_so(void **state)
{
    (void)state;
    if (CHECK_SANITIZED)
        SKIP("a sanitizer asks for memory itself, and has no answer");
    fail_all(OF_MEMORY, 0, ENOMEM);
}

static void a_failed_call_on_a_file_is_said(void **state)
{
    (void)state;
    fail_all(OF_FILES, 2, EIO);
}

static void pieces_and_interruptions_change_nothing(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "%s", scratch("d"));
    snprintf(trace, sizeof trace, "%s", scratch("trace"));
    digest[0] = 0;
    do_in_pieces(&tasks[2]);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_memory_a_status_says_so),
        TEST(a_failed_call_on_a_file_is_said),
        TEST(pieces_and_interruptions_change_nothing),
    };
    scratch_in_memory();
    run_digits();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
