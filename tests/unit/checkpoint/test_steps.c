/* The folder of checkpoints: steps are replaced whole, the newest kept, leftovers removed. */
#include "checkpoint/links.h"
#include "checkpoint/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hogring/checkpoint.h"
#include "support/check.h"
#include "support/sample.h"
#include "support/scratch.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void only_the_newest_are_kept(void **state)
{
    (void)state;
    for (uint64_t step = 1; step <= 5; step++)
        sample_save(step, 3);
    assert_int_equal(scratch_entries("d"), 4);
    for (int step = 1; step <= 5; step++) {
        char name[32];
        snprintf(name, sizeof name, "d/step-%08d", step);
        assert_int_equal(scratch_exists(name), step >= 3);
    }
    check_sample_loads(scratch("d"), 5);
    check_sample_loads(scratch("d/latest"), 5);
    sample_save(6, 0);
    assert_int_equal(scratch_entries("d"), 5);
}

static void the_one_just_saved_is_never_pruned(void **state)
{
    (void)state;
    sample_save(100, 0);
    sample_save(200, 0);
    sample_save(50, 2);
    assert_true(scratch_exists("d/step-00000050"));
    assert_true(scratch_exists("d/step-00000200"));
    assert_false(scratch_exists("d/step-00000100"));
    check_sample_loads(scratch("d/latest"), 50);
    sample_save(40, 1);
    assert_int_equal(scratch_entries("d"), 2);
    check_sample_loads(scratch("d"), 40);
}

static void pruning_touches_no_folder_of_another_name(void **state)
{
    (void)state;
    static const char *const names[] = {"d/step-7",
                                        "d/step-00000007-best",
                                        "d/step-",
                                        "d/steps",
                                        "d/step-+0000007",
                                        "d/step-00000007.older",
                                        "d/step-7777777777777777777777777777"};
    for (size_t i = 0; i < COUNT(names); i++)
        CHECK_OK(hr_folder_make(scratch(names[i])));
    scratch_stderr_begin();
    sample_save(8, 1);
    assert_string_equal(scratch_stderr_end(), ""); /* not even tried */
    assert_int_equal(scratch_entries("d"), COUNT(names) + 2);
}

/* More than what is listed at first; and what is no temporary of anybody's stays. */
static void many_steps_are_listed_and_strange_names_stay(void **state)
{
    (void)state;
    static const char *const names[] = {"d/.tmp-", "d/.tmp-x.-5.0123abcd", "d/.tmp-x.0.0123abcd",
                                        "d/.tmp-x.99999999999.0123abcd", "d/.tmp-1.2"};
    struct hr_saved_step *steps;
    size_t count;
    for (size_t i = 0; i < COUNT(names); i++)
        CHECK_OK(hr_folder_make(scratch(names[i])));
    for (uint64_t step = 1; step <= 40; step++)
        sample_save(step, 0);
    CHECK_OK(hr_checkpoint_prepare(scratch("d"), 1));
    for (size_t i = 0; i < COUNT(names); i++)
        assert_true(scratch_exists(names[i]));
    CHECK_OK(hr_steps_list(scratch("d"), &steps, &count));
    assert_int_equal(count, 40);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(steps[i].step, 40 - i);
    free(steps);
    CHECK_FAILS(hr_steps_list(scratch("none"), &steps, &count), HR_E_IO);
    CHECK_MESSAGE("none: this folder cannot be listed");
    CHECK_FAILS(hr_steps_remove_leftovers(scratch("none")), HR_E_IO);
}

static void saving_a_step_again_replaces_it(void **state)
{
    (void)state;
    sample_save(500, 0);
    scratch_write("d/" SAMPLE_STEP "/note", "x",
                  1); /* shows that the old folder is gone as a whole */
    sample_weight[5] = 55;
    sample_save(500, 0);
    check_sample_loads(scratch("d"), 500);
    assert_false(scratch_exists("d/" SAMPLE_STEP "/note"));
    assert_true(scratch_exists("d/" SAMPLE_STEP ".aside/note"));
    sample_weight[5] = 5;
}

static void a_file_in_the_place_of_a_step_is_replaced(void **state)
{
    (void)state;
    CHECK_OK(hr_folder_make(scratch("d")));
    scratch_write("d/" SAMPLE_STEP, "x", 1);
    sample_save(500, 0);
    check_sample_loads(scratch("d"), 500);
    assert_int_equal(scratch_entries("d"), 3);
}

static void save_temporary(uint64_t step, const char *name)
{
    struct hr_checkpoint checkpoint = sample_checkpoint(step);
    CHECK_OK(hr_checkpoint_save(scratch("elsewhere"), &checkpoint, 0));
    CHECK_OK(hr_folder_make(scratch("d")));
    assert_int_equal(rename(checkpoint.path, scratch(name)), 0);
}

static void a_step_is_replaced_where_names_cannot_be_exchanged(void **state)
{
    (void)state;
    bool published = false;
    sample_save(500, 0);
    scratch_write("d/" SAMPLE_STEP "/note", "x", 1);
    save_temporary(500, "d/temporary");
    const char *dir = scratch("d"), *temporary = scratch("d/temporary");
    const struct hr_publish publish = {dir, temporary, 500, false};
    CHECK_OK(hr_steps_publish(&publish, &published));
    assert_true(published);
    assert_false(scratch_exists("d/" SAMPLE_STEP "/note"));
    assert_int_equal(scratch_entries("d"), 3);
    check_sample_loads(scratch("d"), 500);
}

static void a_step_that_was_moved_aside_is_still_found(void **state)
{
    (void)state;
    sample_save(400, 0);
    sample_save(500, 0);
    assert_int_equal(rename(scratch("d/" SAMPLE_STEP), scratch("d/" SAMPLE_STEP ".old")), 0);
    check_sample_loads(scratch("d"), 500);
    sample_save(500, 1);
    assert_int_equal(scratch_entries("d"), 2);
    check_sample_loads(scratch("d"), 500);
}

static void latest_that_cannot_be_replaced_costs_a_warning_only(void **state)
{
    (void)state;
    CHECK_OK(hr_folder_make(scratch("d/latest")));
    scratch_stderr_begin();
    sample_save(500, 0);
    assert_non_null(strstr(scratch_stderr_end(), "/latest"));
    check_sample_loads(scratch("d"), 500);
    assert_int_equal(scratch_entries("d"), 2);
}

static pid_t dead_pid(void)
{
    const pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    return pid;
}

static void leave(const char *what, pid_t pid, char *name)
{
    sprintf(name, "d/.tmp-%s.%ld.0123abcd", what, (long)pid);
    CHECK_OK(hr_folder_make(scratch(name)));
    char file[128];
    sprintf(file, "%.100s/model.safetensors", name);
    scratch_write(file, "half", 4);
}

static void leftovers_of_dead_processes_are_removed_and_others_kept(void **state)
{
    (void)state;
    char dead[128], own[128], live[128], link[128], other[128];
    sample_save(500, 0);
    leave(SAMPLE_STEP, dead_pid(), dead);
    leave("step-00000600.old", getpid(), own);
    leave(SAMPLE_STEP, getppid(), live);
    sprintf(link, "d/.tmp-latest.%ld.0123abcd", (long)dead_pid());
    assert_int_equal(symlink(SAMPLE_STEP, scratch(link)), 0);
    CHECK_OK(hr_folder_make(scratch("d/.tmp-mine")));
    leave("other", dead_pid(), other);
    const bool given = chown(scratch(other), geteuid() + 1, getegid()) == 0; /* by root */
    CHECK_OK(hr_checkpoint_prepare(scratch("d"), 1));
    assert_false(scratch_exists(dead));
    assert_false(scratch_exists(own)); /* of an earlier process with our number */
    assert_false(scratch_exists(link));
    assert_true(scratch_exists(live));
    assert_true(scratch_exists("d/.tmp-mine"));
    check_sample_loads(scratch("d"), 500);
    assert_int_equal(scratch_exists(other), given);
    assert_int_equal(scratch_entries("d"), 4 + given);
}

static void users_have(const char *name)
{
    size_t bytes;
    unsigned char *text = scratch_read(name, &bytes);
    assert_int_equal(bytes, 4);
    assert_memory_equal(text, "mine", 4);
    free(text);
}

/* By name and content: a file beside a checkpoint's, a folder of that name, a copy, a link. */
static void what_is_no_checkpoint_stays_and_is_not_counted(void **state)
{
    (void)state;
    sample_save(1, 0);
    sample_save(2, 0);
    scratch_write("d/step-00000002/eval.json", "mine", 4);
    CHECK_OK(hr_folder_make(scratch("d/step-00000003")));
    scratch_write("d/step-00000003/manifest.json", "mine", 4);
    CHECK_OK(hr_folder_make(scratch("d/step-00000004/model.safetensors")));
    scratch_write("d/step-00000004/model.safetensors/x", "mine", 4);
    scratch_write("d/step-00000005", "mine", 4);
    assert_int_equal(symlink("step-00000001", scratch("d/step-00000006")), 0);
    sample_save(8, 0);
    assert_int_equal(rename(scratch("d/step-00000008"), scratch("d/step-00000007")), 0);
    scratch_stderr_begin();
    sample_save(20, 2);
    assert_null(strstr(scratch_stderr_end(), "passes over")); /* none is behind two of ours */
    assert_true(scratch_exists("d/step-00000001"));
    scratch_stderr_begin();
    sample_save(30, 2);
    assert_non_null(strstr(scratch_stderr_end(), "holds eval.json"));
    assert_false(scratch_exists("d/step-00000001"));
    users_have("d/step-00000002/eval.json");
    check_sample_loads(scratch("d/step-00000002"), 2);
    users_have("d/step-00000003/manifest.json");
    users_have("d/step-00000004/model.safetensors/x");
    users_have("d/step-00000005");
    check_sample_loads(scratch("d/step-00000007"), 8);
    assert_int_equal(scratch_entries("d"), 9);
}

static void save_in_the_way_of(const char *name)
{
    sample_save(500, 1);
    check_sample_loads(scratch("d"), 500);
    check_sample_loads(scratch("d/latest"), 500);
    users_have(name);
}

static void what_stands_where_a_checkpoint_comes_gets_another_name(void **state)
{
    (void)state;
    CHECK_OK(hr_folder_make(scratch("d/" SAMPLE_STEP)));
    scratch_write("d/" SAMPLE_STEP "/notes", "mine", 4);
    save_in_the_way_of("d/" SAMPLE_STEP ".aside/notes");
    scratch_write("d/" SAMPLE_STEP "/notes", "mine", 4);
    save_in_the_way_of("d/" SAMPLE_STEP ".aside.1/notes");
    check_sample_loads(scratch("d/" SAMPLE_STEP ".aside.1"), 500);
    sample_save(500, 1); /* this one is ours */
    assert_int_equal(scratch_entries("d"), 4);
}

static void names_of_links_that_are_taken_stay(void **state)
{
    (void)state;
    CHECK_OK(hr_folder_make(scratch("d")));
    scratch_write("d/latest", "mine", 4);
    assert_int_equal(symlink("elsewhere", scratch("d/best")), 0);
    scratch_stderr_begin();
    sample_save(500, 1);
    hr_checkpoint_mark_best(scratch("d"), 500, 1);
    hr_link_remove(scratch("d"), HR_BEST);
    hr_link_remove(scratch("d"), HR_LATEST);
    assert_non_null(strstr(scratch_stderr_end(), "latest: is no link to a checkpoint"));
    users_have("d/latest");
    char target[16] = "";
    assert_int_equal(readlink(scratch("d/best"), target, sizeof target - 1), 9);
    check_sample_loads(scratch("d"), 500);
}

/* With a name that a save could have had, too. */
static void leftovers_that_are_not_ours_stay(void **state)
{
    (void)state;
    char folder[128], file[160], text[128];
    leave(SAMPLE_STEP, dead_pid(), folder);
    sprintf(file, "%.100s/notes", folder);
    scratch_write(file, "mine", 4);
    sprintf(text, "d/.tmp-notes.%ld.0123abcd", (long)dead_pid());
    scratch_write(text, "mine", 4);
    scratch_stderr_begin();
    CHECK_OK(hr_checkpoint_prepare(scratch("d"), 1));
    assert_non_null(strstr(scratch_stderr_end(), "stays"));
    users_have(file);
    users_have(text);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(only_the_newest_are_kept),
        TEST(the_one_just_saved_is_never_pruned),
        TEST(pruning_touches_no_folder_of_another_name),
        TEST(many_steps_are_listed_and_strange_names_stay),
        TEST(saving_a_step_again_replaces_it),
        TEST(a_file_in_the_place_of_a_step_is_replaced),
        TEST(a_step_is_replaced_where_names_cannot_be_exchanged),
        TEST(a_step_that_was_moved_aside_is_still_found),
        TEST(latest_that_cannot_be_replaced_costs_a_warning_only),
        TEST(what_is_no_checkpoint_stays_and_is_not_counted),
        TEST(what_stands_where_a_checkpoint_comes_gets_another_name),
        TEST(names_of_links_that_are_taken_stay),
        TEST(leftovers_that_are_not_ours_stay),
        TEST(leftovers_of_dead_processes_are_removed_and_others_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
