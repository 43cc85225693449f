/* Configurations: files of any kind, and what is wrong with them. */
#include "options/command_line.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/pipe.h"
#include "support/check.h"
#include "support/scratch.h"

enum { SHORT_MS = 100, LONG_MS = 200 * 1000 };

static void check_refused(const char *path, enum hr_status status, const char *why)
{
    static struct hr_cli cli;
    hr_cli_defaults(&cli);
    CHECK_FAILS(hr_config_read(&cli, HR_TRAIN, path), status);
    CHECK_MESSAGE("--config ");
    CHECK_MESSAGE(path);
    CHECK_MESSAGE(why);
}

static void files_that_never_end_are_given_up(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(scratch("fifo"), 0600), 0);
    hr_pipe_patience(SHORT_MS);
    check_refused(scratch("fifo"), HR_E_IO, "fifo: its end did not come in 0.1 s");
    hr_pipe_patience(LONG_MS);
    check_refused("/dev/zero", HR_E_FORMAT, "/dev/zero: has more than 1048576 bytes, or no end");
}

/* A line that is wrong, and what is said of it. */
static void wrong_lines_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum hr_status status;
        const char *message;
    } wrong[] = {
        {"workers 3\n", HR_E_FORMAT, "--config f.ini: line 1 is not \"name = value\""},
        {"seed = 1\n\n[train\nlr = 1\n", HR_E_FORMAT, "line 3 is not"},
        {"wokers = 3\n", HR_E_USAGE, "f.ini: --wokers: unknown option; did you mean"},
        {"[train]\nworkers = x\n", HR_E_USAGE, "f.ini: --workers x: expected a whole number"},
        {"[bench]\nworkers = 3\n", HR_E_USAGE, "f.ini: [bench]: expected [train] or [compare]"},
        {"[bench]\nworkers = 3\nlr = x\n", HR_E_USAGE, "f.ini: [bench]: expected"},
        {"config = g.ini\n", HR_E_USAGE, "f.ini: --config: not inside a configuration file"},
        {"quiet = maybe\n", HR_E_USAGE, "f.ini: --quiet maybe: expected true or false (on or off)"},
        {"workers = x\nlr 1\n", HR_E_USAGE, "f.ini: --workers x"},
    };
    static struct hr_cli cli;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        hr_cli_defaults(&cli);
        CHECK_FAILS(hr_config_parse(&cli, HR_TRAIN, "f.ini", wrong[i].text), wrong[i].status);
        CHECK_MESSAGE(wrong[i].message);
    }
}

static void sections_are_of_commands(void **state)
{
    (void)state;
    static const char text[] = "seed = 7\n[train]\nworkers = 3\nquiet = on\n"
                               "[compare]\nworkers = 4\nseeds = 2\n";
    static struct hr_cli cli;
    hr_cli_defaults(&cli);
    CHECK_OK(hr_config_parse(&cli, HR_TRAIN, "f.ini", text));
    assert_true(cli.train.workers == 3 && cli.quiet && cli.seeds == 1 && cli.train.seed == 7);
    hr_cli_defaults(&cli);
    CHECK_OK(hr_config_parse(&cli, HR_COMPARE, "f.ini", text));
    assert_true(cli.train.workers == 4 && !cli.quiet && cli.seeds == 2 && cli.train.seed == 7);
}

/* trace:FILE is looked for beside the configuration. */
static void delays_lie_beside_the_configuration(void **state)
{
    (void)state;
    static const struct {
        const char *path, *value, *want;
    } rows[] = {
        {"a/b/f.ini", "trace:delays", "trace:a/b/delays"},
        {"f.ini", "trace:delays", "trace:delays"},
        {"a/f.ini", "trace:/tmp/delays", "trace:/tmp/delays"},
        {"a/f.ini", "3ms", "3ms"},
        {"a/f.ini", "trace:", "trace:"},
    };
    static struct hr_cli cli;
    char text[80];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hr_cli_defaults(&cli);
        snprintf(text, sizeof text, "compute-time = %s\n", rows[i].value);
        CHECK_OK(hr_config_parse(&cli, HR_TRAIN, rows[i].path, text));
        assert_string_equal(cli.train.compute_time, rows[i].want);
    }
}

static void a_file_is_text_and_may_be_missing(void **state)
{
    (void)state;
    scratch_write("zero.ini", "workers = 3\n\0lr = 1\n", 19);
    check_refused(scratch("zero.ini"), HR_E_FORMAT, "zero.ini: is no text");
    check_refused(scratch("nothing.ini"), HR_E_IO, "nothing.ini: cannot be opened");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(files_that_never_end_are_given_up),
        TEST(a_file_is_text_and_may_be_missing),
        cmocka_unit_test(wrong_lines_are_named),
        cmocka_unit_test(sections_are_of_commands),
        cmocka_unit_test(delays_lie_beside_the_configuration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
