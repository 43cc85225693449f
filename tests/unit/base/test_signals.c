/* Signals that come together are one. Who leaves from a handler leaves no half-written files. */
#include "base/signals.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "support/check.h"
#include "support/scratch.h"

/* What body returns in a child that trains. */
static int in_a_run(int (*body)(void))
{
    int code;
    const pid_t child = fork();
    if (child == 0) {
        hr_signals_catch();
        hr_signals_run_begins();
        _exit(body());
    }
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_true(WIFEXITED(code));
    return WEXITSTATUS(code);
}

static const int64_t LATER_NS = 200000000;
enum { ANOTHER_RAN = 100 };

/* How many are seen of two that come at once, and of one more later; ANOTHER_RAN between. */
static int seen_of_three(void)
{
    const int64_t began = hr_clock_ns();
    raise(SIGTERM);
    raise(SIGTERM);
    if (hr_clock_ns() - began > LATER_NS / 2)
        return ANOTHER_RAN;
    while (hr_clock_ns() - began < LATER_NS)
        usleep(1000);
    raise(SIGTERM);
    return hr_signals_seen(NULL);
}

static void signals_close_together_are_one_as_of_timeout_and_later_ones_another(void **state)
{
    (void)state;
    int seen;
    while ((seen = in_a_run(seen_of_three)) == ANOTHER_RAN) {
    }
    assert_int_equal(seen, 2);
}

static int seen_without_a_pause(void)
{
    const int64_t began = hr_clock_ns();
    while (hr_signals_seen(NULL) < 2 && hr_clock_ns() - began < 20 * HR_NS_PER_SECOND) {
        raise(SIGTERM);
        usleep(10000);
    }
    return hr_signals_seen(NULL);
}

/* As from a key that is held down, or a script that repeats itself until the command is gone. */
static void signals_without_a_pause_count_again_and_again(void **state)
{
    (void)state;
    assert_int_equal(in_a_run(seen_without_a_pause), 2);
}

/* A run's clock stands still while the run does, but people's do not. */
static int64_t stand_still(clockid_t clock)
{
    (void)clock;
    return 1;
}

static int seen_while_it_stood_still(void)
{
    hr_clock_of_run = stand_still;
    raise(SIGTERM);
    usleep((useconds_t)(LATER_NS / 1000));
    raise(SIGTERM);
    return hr_signals_seen(NULL);
}

static void a_run_that_stood_still_has_got_two_signals(void **state)
{
    (void)state;
    assert_int_equal(in_a_run(seen_while_it_stood_still), 2);
}

static void unfinished_files_are_removed_and_finished_ones_stay(void **state)
{
    (void)state;
    struct hr_file_writer replacing, creating;
    CHECK_OK(hr_file_write_durably(scratch("done"), "abc", 3));
    CHECK_OK(hr_file_replace_durably(scratch("old"), "abc", 3));
    CHECK_OK(hr_file_replace(&replacing, scratch("old"), 3));
    CHECK_OK(hr_file_create(&creating, scratch("fresh"), 3));
    assert_int_equal(access(replacing.temporary, F_OK), 0);
    hr_leftovers_remove();
    assert_true(scratch_exists("done") && scratch_exists("old") && !scratch_exists("fresh"));
    assert_int_equal(access(replacing.temporary, F_OK), -1);
    hr_file_abandon(&replacing);
    hr_file_abandon(&creating);
}

static void children_leave_alone_what_is_their_parents(void **state)
{
    (void)state;
    struct hr_file_writer writer;
    CHECK_OK(hr_file_create(&writer, scratch("mine"), 3));
    const pid_t child = fork();
    if (child == 0) {
        hr_leftovers_remove();
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_true(scratch_exists("mine"));
    hr_file_abandon(&writer);
}

static void more_than_can_be_remembered_do_no_harm(void **state)
{
    (void)state;
    char path[64];
    for (int i = 0; i < 100; i++) {
        snprintf(path, sizeof path, "/nowhere/%d", i);
        hr_leftover_add(path);
    }
    hr_leftovers_remove();
    for (int i = 0; i < 100; i++) {
        snprintf(path, sizeof path, "/nowhere/%d", i);
        hr_leftover_forget(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signals_close_together_are_one_as_of_timeout_and_later_ones_another),
        cmocka_unit_test(signals_without_a_pause_count_again_and_again),
        cmocka_unit_test(a_run_that_stood_still_has_got_two_signals),
        cmocka_unit_test(unfinished_files_are_removed_and_finished_ones_stay),
        cmocka_unit_test(children_leave_alone_what_is_their_parents),
        cmocka_unit_test(more_than_can_be_remembered_do_no_harm),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
