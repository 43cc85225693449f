/* A log goes back to a checkpoint: which lines stay, which are overtaken, and whose it is. */
#include "metrics/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/scratch.h"

#define A(event, step) "{\"run\":\"a\",\"event\":\"" event "\",\"step\":" #step "}\n"
#define B(event, step) "{\"run\":\"b\",\"event\":\"" event "\",\"step\":" #step "}\n"
#define START(step, life)                                                                          \
    "{\"run\":\"a\",\"event\":\"start\",\"step\":" #step ",\"life\":" #life "}\n"

static struct hr_gone_back go_back(const char *text, uint64_t step, uint64_t redone)
{
    struct hr_gone_back gone;
    const struct hr_go_back to = {"\"a\"", step, &redone, redone > 0};
    scratch_write("log", text, strlen(text));
    remove(scratch("log.overtaken"));
    CHECK_OK(hr_log_go_back(scratch("log"), &to, &gone));
    return gone;
}

static void check_file(const char *name, const char *want)
{
    size_t bytes;
    if (!*want) {
        assert_false(scratch_exists(name));
        return;
    }
    char *text = (char *)scratch_read(name, &bytes);
    assert_int_equal(bytes, strlen(want));
    assert_memory_equal(text, want, bytes);
    free(text);
}

static void later_steps_go(void **state)
{
    (void)state;
    const struct hr_gone_back gone =
        go_back(START(0, 1) A("step", 1) A("saving", 1) A("step", 2) A("saved", 1)
                    A("evaluation", 2) A("saving", 2) A("end", 2),
                1, 0);
    check_file("log", START(0, 1) A("step", 1) A("saving", 1) A("saved", 1));
    check_file("log.overtaken", A("step", 2) A("evaluation", 2) A("saving", 2) A("end", 2));
    assert_int_equal(gone.lines, 4);
    assert_int_equal(gone.lives, 1);
    assert_int_equal(gone.torn, 0);
}

static void other_runs_keep_their_lines(void **state)
{
    (void)state;
    go_back(START(0, 1) B("step", 9) A("saving", 1) B("step", 10) A("step", 2) B("end", 10), 1, 0);
    check_file("log", START(0, 1) B("step", 9) A("saving", 1) B("step", 10) B("end", 10));
    check_file("log.overtaken", A("step", 2));
}

/* What is told behind a save that is no cut. */
static void steps_that_are_not_redone_stay(void **state)
{
    (void)state;
    go_back(START(0, 1) A("step", 1) A("saving", 4) A("step", 3) A("step", 2) A("step", 5), 4, 2);
    check_file("log", START(0, 1) A("step", 1) A("saving", 4) A("step", 3));
    check_file("log.overtaken", A("step", 2) A("step", 5));
}

/* It was saved at the same step before: a life that began there and got nowhere is overtaken. */
static void lives_are_counted_on(void **state)
{
    (void)state;
    const struct hr_gone_back gone =
        go_back(START(0, 1) A("saving", 4) START(4, 2) A("step", 5), 4, 0);
    check_file("log", START(0, 1) A("saving", 4));
    assert_int_equal(gone.lives, 2);
}

static void a_torn_line_is_cut_off(void **state)
{
    (void)state;
    const struct hr_gone_back gone = go_back(START(0, 1) A("step", 1) "{\"run\":\"a\",\"ev", 7, 0);
    check_file("log", START(0, 1) A("step", 1));
    check_file("log.overtaken", "{\"run\":\"a\",\"ev\n");
    assert_int_equal(gone.torn, 14);
    assert_int_equal(gone.lines, 0);
}

static void what_is_well_is_not_touched(void **state)
{
    (void)state;
    go_back(START(0, 1) A("step", 1) A("saving", 1), 1, 0);
    check_file("log.overtaken", "");
    go_back("", 1, 0);
    check_file("log.overtaken", "");
}

static void another_runs_log_is_refused(void **state)
{
    (void)state;
    struct hr_gone_back gone;
    const struct hr_go_back to = {"\"a\"", 1, NULL, 0};
    scratch_write("log", A("step", 1) A("step", 2), strlen(A("step", 1) A("step", 2)));
    CHECK_FAILS(hr_log_go_back(scratch("log"), &to, &gone), HR_E_USAGE);
    CHECK_MESSAGE("another run's");
    scratch_write("log", A("step", 1) "x\n", strlen(A("step", 1) "x\n"));
    CHECK_FAILS(hr_log_go_back(scratch("log"), &to, &gone), HR_E_USAGE);
    CHECK_MESSAGE("line 2 is none of a log of hogring");
    CHECK_OK(hr_log_go_back(scratch("none"), &to, &gone));
    assert_false(scratch_exists("none"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(later_steps_go),
        TEST(other_runs_keep_their_lines),
        TEST(steps_that_are_not_redone_stay),
        TEST(lives_are_counted_on),
        TEST(a_torn_line_is_cut_off),
        TEST(what_is_well_is_not_touched),
        TEST(another_runs_log_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
