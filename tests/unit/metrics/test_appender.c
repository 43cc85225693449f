/* Files that grow by whole pieces: from several processes, where the disk is full, and when another
 * file is put in their place. */
#include "metrics/appender.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/scratch.h"

enum { WRITERS = 4, LINES = 300 };

static void write_lines(const char *path, int writer)
{
    struct hr_appender file;
    if (hr_appender_open(&file, path) != HR_OK)
        _exit(1);
    for (int i = 0; i < LINES; i++) {
        char line[64];
        const int n = snprintf(line, sizeof line, "%d %d %*d\n", writer, i, i % 20 + 1, i);
        hr_appender_put(&file, line, (size_t)n);
        if (i % 7 == writer)
            hr_appender_flush(&file);
    }
    _exit(hr_appender_close(&file) == HR_OK ? 0 : 1);
}

/* Each line is whole, and those of a writer are in order. */
static void check_lines(const char *name)
{
    size_t bytes;
    char *text = (char *)scratch_read(name, &bytes), *rest = text;
    int next[WRITERS] = {0}, total = 0;
    for (char *line; (line = strsep(&rest, "\n")) && *line; total++) {
        int writer, i, again;
        assert_int_equal(sscanf(line, "%d %d %d", &writer, &i, &again), 3);
        assert_in_range(writer, 0, WRITERS - 1);
        assert_int_equal(i, next[writer]++);
        assert_int_equal(again, i);
    }
    assert_int_equal(total, WRITERS * LINES);
    free(text);
}

static void several_processes_append_whole_lines(void **state)
{
    (void)state;
    for (int w = 0; w < WRITERS; w++)
        if (fork() == 0)
            write_lines(scratch("log"), w);
    for (int w = 0, how; w < WRITERS; w++) {
        assert_true(wait(&how) > 0);
        assert_int_equal(how, 0);
    }
    check_lines("log");
}

/* A limit on the size of files stands for a full disk. */
static void a_full_disk_leaves_whole_lines_and_a_warning(void **state)
{
    (void)state;
    struct hr_appender file;
    struct rlimit had, some;
    size_t bytes;
    getrlimit(RLIMIT_FSIZE, &had);
    some = had;
    some.rlim_cur = 4005; /* enough for what goes to stderr */
    signal(SIGXFSZ, SIG_IGN);
    CHECK_OK(hr_appender_open(&file, scratch("full")));
    for (int i = 0; i < 400; i++)
        hr_appender_put(&file, "ten bytes\n", 10);
    hr_appender_flush(&file);
    setrlimit(RLIMIT_FSIZE, &some);
    hr_appender_put(&file, "ten bytes\n", 10);
    scratch_stderr_begin();
    hr_appender_flush(&file);
    hr_appender_put(&file, "more\n", 5);
    hr_appender_flush(&file);
    const char *said = scratch_stderr_end();
    setrlimit(RLIMIT_FSIZE, &had);
    assert_non_null(strstr(said, "full: File too large; it ends here, training goes on"));
    CHECK_FAILS(hr_appender_close(&file), HR_E_IO);
    CHECK_MESSAGE("File too large");
    char *text = (char *)scratch_read("full", &bytes);
    assert_int_equal(bytes, 4000);
    free(text);
}

/* Pieces that are flushed by themselves; the last one would have room. */
static void behind_the_first_that_fails_nothing_is_written(void **state)
{
    (void)state;
    enum { PIECE = 1000, PIECES = 100, ROOM = 66000 };
    static char piece[PIECE];
    struct hr_appender file;
    struct rlimit had, some;
    size_t bytes;
    getrlimit(RLIMIT_FSIZE, &had);
    some = had;
    some.rlim_cur = ROOM;
    signal(SIGXFSZ, SIG_IGN);
    CHECK_OK(hr_appender_open(&file, scratch("gap")));
    file.silent = true;
    setrlimit(RLIMIT_FSIZE, &some);
    for (size_t i = 0; i <= PIECES; i++) {
        memset(piece, (int)('!' + i % 90), PIECE);
        hr_appender_put(&file, piece, i < PIECES ? PIECE : 1);
        if (i == 9)
            hr_appender_flush(&file);
    }
    const enum hr_status status = hr_appender_close(&file);
    setrlimit(RLIMIT_FSIZE, &had);
    assert_int_equal(status, HR_E_IO);
    char *text = (char *)scratch_read("gap", &bytes);
    assert_int_equal(bytes % PIECE, 0);
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal(text[i], '!' + i / PIECE % 90);
    free(text);
}

static void what_is_put_in_its_place_is_gone_on_with(void **state)
{
    (void)state;
    struct hr_appender file;
    size_t bytes;
    CHECK_OK(hr_appender_open(&file, scratch("log")));
    hr_appender_put(&file, "one\n", 4);
    hr_appender_flush(&file);
    scratch_write("other", "other\n", 6);
    assert_int_equal(rename(scratch("other"), scratch("log")), 0);
    hr_appender_put(&file, "two\n", 4);
    CHECK_OK(hr_appender_close(&file));
    char *text = (char *)scratch_read("log", &bytes);
    assert_int_equal(bytes, 10);
    assert_memory_equal(text, "other\ntwo\n", 10);
    free(text);
}

/* A lock that another holds is not waited for; the lines come later. */
static void nobody_waits_for_a_lock(void **state)
{
    (void)state;
    struct hr_appender file;
    size_t bytes;
    int lock;
    CHECK_OK(hr_appender_open(&file, scratch("log")));
    CHECK_OK(hr_appender_lock(scratch("log"), &lock));
    hr_appender_put(&file, "one\n", 4);
    hr_appender_flush(&file);
    free(scratch_read("log", &bytes));
    assert_int_equal(bytes, 0);
    close(lock);
    CHECK_OK(hr_appender_close(&file));
    free(scratch_read("log", &bytes));
    assert_int_equal(bytes, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(several_processes_append_whole_lines, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(a_full_disk_leaves_whole_lines_and_a_warning, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(behind_the_first_that_fails_nothing_is_written,
                                        scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(what_is_put_in_its_place_is_gone_on_with, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(nobody_waits_for_a_lock, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
