/* A program that hangs is ended, and all that it started. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gate/child.h"
#include "support/check.h"

static void one_that_hangs_is_ended_with_all_that_it_started(void **state)
{
    (void)state;
    char folder[HR_PATH_MAX], script[HR_PATH_MAX], mark[HR_PATH_MAX], word[] = "train";
    CHECK_OK(hr_gate_folder_make(folder));
    CHECK_OK(hr_path(script, "%s/hangs", folder));
    CHECK_OK(hr_path(mark, "%s/pid", folder));
    FILE *file = fopen(script, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\ntrap '' TERM\nsleep 1000 &\necho $! >%s\nwait\nsleep 1000\n", mark);
    fclose(file);
    assert_int_equal(chmod(script, 0700), 0);
    const struct hr_gate_child child = {
        .binary = script, .folder = folder, .quiet = true, .most_s = 2};
    const struct hr_gate_words words = {.word = {word}, .n = 1};
    struct hr_gate_document document;
    CHECK_FAILS(hr_gate_child_run(&child, &words, "x.json", &document), HR_E_IO);
    CHECK_MESSAGE("hangs train: had not ended after 2 s, and was ended");
    int pid = 0;
    file = fopen(mark, "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%d", &pid), 1);
    fclose(file);
    for (int i = 0; i < 200 && kill(pid, 0) == 0; i++)
        usleep(20000);
    char stat_path[64], line[200] = "";
    snprintf(stat_path, sizeof stat_path, "/proc/%d/stat", pid);
    file = fopen(stat_path, "r"); /* there is one while nobody has waited for it */
    if (file) {
        assert_non_null(fgets(line, sizeof line, file));
        assert_non_null(strstr(line, ") Z "));
        fclose(file);
    }
    hr_gate_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_hangs_is_ended_with_all_that_it_started),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
