/* What is read is never written over, whatever it is called. */
#include "base/inputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/pipe.h"
#include "support/check.h"
#include "support/scratch.h"

static void read_it(const char *name)
{
    int fd;
    size_t bytes;
    CHECK_OK(hr_file_open(scratch(name), &fd, &bytes));
    close(fd);
}

static void holds(const char *name, const char *text)
{
    size_t bytes;
    unsigned char *found = scratch_read(name, &bytes);
    assert_int_equal(bytes, strlen(text));
    assert_memory_equal(found, text, bytes);
    free(found);
}

static void no_writer_takes_its_place(const char *name)
{
    struct hr_file_writer writer;
    int fd;
    CHECK_FAILS(hr_file_replace(&writer, scratch(name), 1), HR_E_USAGE);
    CHECK_FAILS(hr_file_open_unblocked(scratch(name), 0, &fd), HR_E_USAGE);
    CHECK_FAILS(hr_file_forget(scratch(name)), HR_E_USAGE);
}

static void a_file_that_is_read_stays_by_any_name(void **state)
{
    (void)state;
    scratch_write("in", "mine", 4);
    assert_int_equal(symlink("in", scratch("symbolic")), 0);
    assert_int_equal(link(scratch("in"), scratch("hard")), 0);
    CHECK_OK(hr_input_spare(scratch("in")));
    read_it("in");
    no_writer_takes_its_place("in");
    no_writer_takes_its_place("symbolic");
    no_writer_takes_its_place("hard");
    no_writer_takes_its_place("./in");
    holds("in", "mine");
    CHECK_OK(hr_file_replace_durably(scratch("another"), "x", 1));
}

static void a_file_that_is_opened_after_the_output_stays(void **state)
{
    (void)state;
    struct hr_file_writer writer;
    scratch_write("in", "mine", 4);
    CHECK_OK(hr_file_replace(&writer, scratch("in"), 1));
    CHECK_OK(hr_file_write(&writer, "x", 1));
    read_it("in");
    CHECK_FAILS(hr_file_finish(&writer), HR_E_USAGE);
    holds("in", "mine");
    assert_int_equal(scratch_entries(""), 1);
}

static void nothing_new_comes_into_a_folder_of_data(void **state)
{
    (void)state;
    struct hr_file_writer writer;
    assert_int_equal(mkdir(scratch("data"), 0755) | mkdir(scratch("data/ours"), 0755), 0);
    CHECK_OK(hr_input_add_folder(scratch("data")));
    CHECK_FAILS(hr_file_replace(&writer, scratch("data/new"), 1), HR_E_USAGE);
    CHECK_FAILS(hr_file_create(&writer, scratch("data/new"), 1), HR_E_USAGE);
    CHECK_FAILS(hr_folder_make(scratch("data")), HR_E_USAGE);
    CHECK_FAILS(hr_folder_make(scratch("data/new/deeper")), HR_E_USAGE);
    CHECK_OK(hr_folder_make(scratch("data/ours"))); /* a run that was there before */
    CHECK_OK(hr_file_replace_durably(scratch("data/ours/new"), "x", 1));
    assert_int_equal(scratch_entries("data"), 1);
}

/* Without an entry for each; but a hard link is no news to the folder. */
static void files_of_such_a_folder_are_read_too(void **state)
{
    (void)state;
    assert_int_equal(mkdir(scratch("data"), 0755), 0);
    CHECK_OK(hr_input_add_folder(scratch("data")));
    scratch_write("data/in", "mine", 4);
    scratch_write("in", "mine", 4);
    assert_int_equal(symlink("../in", scratch("data/symbolic")), 0);
    read_it("data/in");
    read_it("data/symbolic");
    no_writer_takes_its_place("data/in");
    no_writer_takes_its_place("in");
}

static void names_in_a_value_are_found(void **state)
{
    (void)state;
    char value[600];
    scratch_write("in", "mine", 4);
    snprintf(value, sizeof value, "a:b=trace:%s,c", scratch("in"));
    CHECK_OK(hr_input_named(value, false));
    no_writer_takes_its_place("in");
    CHECK_OK(hr_input_named(scratch(""), false));
    CHECK_OK(hr_input_spare(scratch("new")));
    CHECK_OK(hr_input_named(scratch(""), true));
    CHECK_FAILS(hr_input_spare(scratch("new")), HR_E_USAGE);
}

/* A file system gives numbers of removed files away again. */
static void what_is_gone_or_ours_may_be_written(void **state)
{
    (void)state;
    scratch_write("in", "mine", 4);
    read_it("in");
    assert_int_equal(rename(scratch("in"), scratch("moved")), 0);
    CHECK_OK(hr_input_spare(scratch("moved")));
    read_it("moved");
    CHECK_FAILS(hr_input_spare(scratch("moved")), HR_E_USAGE);
    hr_input_release(scratch("moved"));
    CHECK_OK(hr_input_spare(scratch("moved")));
}

static void many_are_remembered(void **state)
{
    (void)state;
    char name[32];
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "%d", i);
        scratch_write(name, "mine", 4);
        read_it(name);
    }
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "%d", i);
        CHECK_FAILS(hr_input_spare(scratch(name)), HR_E_USAGE);
    }
}

static void what_comes_through_a_pipe_is_no_file(void **state)
{
    (void)state;
    char *text;
    size_t bytes;
    CHECK_OK(hr_pipe_read_all("/dev/null", 10, &text, &bytes));
    free(text);
    CHECK_OK(hr_file_replace_durably("/dev/null", "x", 1));
}

#define SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(a_file_that_is_read_stays_by_any_name),
        SCRATCH(a_file_that_is_opened_after_the_output_stays),
        SCRATCH(nothing_new_comes_into_a_folder_of_data),
        SCRATCH(files_of_such_a_folder_are_read_too),
        SCRATCH(names_in_a_value_are_found),
        SCRATCH(what_is_gone_or_ours_may_be_written),
        SCRATCH(many_are_remembered),
        SCRATCH(what_comes_through_a_pipe_is_no_file),
    };
    hr_inputs_remember();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
