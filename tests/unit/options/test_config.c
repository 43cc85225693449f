/* Configurations: files of any kind, and what is wrong with them. */
#include "options/config.h"

#include <sys/stat.h>

#include "base/pipe.h"
#include "support/check.h"
#include "support/scratch.h"

enum { SHORT_MS = 100 };

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
    check_refused("/dev/zero", HR_E_FORMAT, "/dev/zero: has more than 1048576 bytes, or no end");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(files_that_never_end_are_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
