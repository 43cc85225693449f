/* A program that hangs is ended, and all that it started. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gate/child.h"
#include "support/check.h"

/* Not when it is gone, or is there only because nobody has waited for it. */
static bool runs(int pid)
{
    char path[64], line[200] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    const bool is = fgets(line, sizeof line, file) && !strstr(line, ") Z ");
    fclose(file);
    return is;
}

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
    const struct hr_gate_words words = {.word = {word}, .n = 1};
    int pid = 0;
    for (double most_s = 1; !pid; most_s *= 2) { /* until it came so far */
        const struct hr_gate_child child = {
            .binary = script, .folder = folder, .quiet = true, .most_s = most_s};
        struct hr_gate_document document;
        CHECK_FAILS(hr_gate_child_run(&child, &words, "x.json", &document), HR_E_IO);
        CHECK_MESSAGE("hangs train: had not ended after ");
        if (!(file = fopen(mark, "r")))
            continue;
        if (fscanf(file, "%d", &pid) != 1)
            pid = 0;
        fclose(file);
    }
    while (runs(pid))
        usleep(20000);
    hr_gate_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_hangs_is_ended_with_all_that_it_started),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
