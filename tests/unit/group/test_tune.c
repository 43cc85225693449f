/* The measured choice of `auto`: kept in a file, believed only where it was made. */
#include "group/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpus.h"
#include "group/posts.h"
#include "support/check.h"
#include "support/scratch.h"

static const char *const where = "cache/tune";

static void write_text(const char *text)
{
    scratch_write(where, text, strlen(text));
}

static void read_text(char *text, size_t size)
{
    size_t bytes;
    unsigned char *all = scratch_read(where, &bytes);
    snprintf(text, size, "%.*s", (int)bytes, (const char *)all);
    free(all);
}

/* What stands there after one measurement, which is for 2 ranks. */
static void measure_once(char *text, size_t size)
{
    assert_in_range(hr_tune_one_shot_bytes(2), 0, HR_POST_BYTES);
    read_text(text, size);
}

static void what_was_measured_is_kept_and_can_be_pinned(void **state)
{
    (void)state;
    char text[1024], pinned[2048];
    measure_once(text, sizeof text);
    assert_non_null(strstr(text, "\nranks 2 one-shot "));
    *strstr(text, "ranks 2") = '\0';
    snprintf(pinned, sizeof pinned, "%sranks 3 one-shot 7\nranks 2 one-shot 123\n", text);
    write_text(pinned);
    assert_int_equal(hr_tune_one_shot_bytes(2), 123);
    snprintf(pinned, sizeof pinned, "%sranks 2 one-shot 99999999\n", text);
    write_text(pinned);
    assert_int_equal(hr_tune_one_shot_bytes(2), HR_POST_BYTES);
}

static void another_machines_file_is_not_believed(void **state)
{
    (void)state;
    char text[1024];
    measure_once(text, sizeof text);
    write_text("# hogring: auto\n# another machine, 2 processors\nranks 2 one-shot 123\n");
    assert_int_not_equal(hr_tune_one_shot_bytes(2), 123);
    read_text(text, sizeof text);
    assert_null(strstr(text, "another machine"));
    write_text("ranks 2 one-shot 123\n");
    assert_int_not_equal(hr_tune_one_shot_bytes(2), 123);
}

static void somebody_elses_file_is_left_as_it_is(void **state)
{
    (void)state;
    char text[1024];
    measure_once(text, sizeof text);
    write_text("notes of mine\n");
    assert_in_range(hr_tune_one_shot_bytes(2), 0, HR_POST_BYTES);
    read_text(text, sizeof text);
    assert_string_equal(text, "notes of mine\n");
    write_text("");
    measure_once(text, sizeof text);
    assert_non_null(strstr(text, "\nranks 2 one-shot "));
}

static void a_folder_that_cannot_be_made_only_costs_time(void **state)
{
    (void)state;
    setenv("HOGRING_TUNE", "/proc/nowhere/tune", 1);
    assert_in_range(hr_tune_one_shot_bytes(2), 0, HR_POST_BYTES);
    setenv("HOGRING_TUNE", "", 1);
    assert_in_range(hr_tune_one_shot_bytes(2), 0, HR_POST_BYTES);
}

static void ranks_without_a_processor_each_are_not_measured(void **state)
{
    (void)state;
    assert_int_equal(hr_tune_one_shot_bytes(hr_cpus_allowed() + 1), 0);
    assert_int_equal(hr_tune_one_shot_bytes(1), 0);
    assert_false(scratch_exists(where));
}

static int setup(void **state)
{
    const int failed = scratch_setup(state);
    setenv("HOGRING_CPUS", "2", 1); /* one-shot is for ranks that have a processor each */
    setenv("HOGRING_TUNE", scratch(where), 1);
    return failed;
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(what_was_measured_is_kept_and_can_be_pinned),
        IN_FOLDER(another_machines_file_is_not_believed),
        IN_FOLDER(somebody_elses_file_is_left_as_it_is),
        IN_FOLDER(a_folder_that_cannot_be_made_only_costs_time),
        IN_FOLDER(ranks_without_a_processor_each_are_not_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
