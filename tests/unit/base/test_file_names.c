/* Names of files that are replaced: forgotten before, too long, or all taken. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "support/check.h"
#include "support/scratch.h"

static void what_an_earlier_run_left_is_forgotten(void **state)
{
    (void)state;
    struct stat info;
    scratch_write("f", "old", 3);
    scratch_write("target", "old", 3);
    assert_int_equal(symlink("target", scratch("link")), 0);
    assert_int_equal(symlink("nowhere", scratch("dangling")), 0);
    assert_int_equal(symlink("round", scratch("round")), 0);
    assert_int_equal(mkfifo(scratch("fifo"), 0600), 0);
    CHECK_OK(hr_file_forget(scratch("f")));
    assert_false(scratch_exists("f"));
    CHECK_OK(hr_file_forget(scratch("f")));
    CHECK_OK(hr_file_forget(scratch("target/inside")));
    CHECK_OK(hr_file_forget(scratch("link"))); /* a link stays, and what it shows is empty */
    assert_true(stat(scratch("link"), &info) == 0 && info.st_size == 0);
    CHECK_OK(hr_file_forget(scratch("fifo")));
    CHECK_OK(hr_file_forget(scratch("dangling")));
    assert_int_equal(scratch_entries(""), 5);
    CHECK_FAILS(hr_file_forget(scratch("round")), HR_E_IO);
    CHECK_MESSAGE("round: what an earlier run left cannot be removed: Too many levels");
}

static void paths_that_are_too_long_are_refused_everywhere(void **state)
{
    (void)state;
    static char path[HR_PATH_MAX + 10];
    struct hr_file_writer writer;
    memset(path, '/', sizeof path - 1);
    CHECK_FAILS(hr_folder_make(path), HR_E_USAGE);
    CHECK_MESSAGE("is too long, at most");
    memset(path, 'x', sizeof path - 1);
    CHECK_FAILS(hr_file_check_writable(path), HR_E_USAGE);
    CHECK_FAILS(hr_file_replace(&writer, path, 1), HR_E_USAGE);
    path[HR_PATH_MAX - 1] = '\0';
    CHECK_FAILS(hr_file_replace(&writer, path, 1), HR_E_USAGE); /* its temporary */
}

/* All numbers that are tried are taken. */
static void no_temporary_is_left_to_take(void **state)
{
    (void)state;
    char taken[64];
    for (int i = 0; i < 100; i++) {
        sprintf(taken, "f.%ld.%d.tmp", (long)getpid(), i);
        scratch_write(taken, "", 0);
    }
    CHECK_FAILS(hr_file_replace_durably(scratch("f"), "x", 1), HR_E_IO);
    CHECK_MESSAGE("f: no name is left for a temporary file beside it");
    assert_int_equal(scratch_entries(""), 100);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_an_earlier_run_left_is_forgotten),
        TEST(paths_that_are_too_long_are_refused_everywhere),
        TEST(no_temporary_is_left_to_take),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
