/* Where a JSON document goes: a file, a link, a pipe, standard output, nowhere. */
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json/value.h"
#include "support/check.h"
#include "support/json_file.h"

static void a_dash_is_stdout_and_ends_in_a_newline(void **state)
{
    (void)state;
    fflush(stdout);
    const int saved = dup(STDOUT_FILENO);
    const int file = open(json_file_path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    dup2(file, STDOUT_FILENO);
    const enum hr_status status = hr_json_write("-", json_object());
    fflush(stdout);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    char last[2] = "";
    const off_t size = lseek(file, 0, SEEK_END);
    assert_int_equal(pread(file, last, 2, size - 2), 2);
    close(file);
    CHECK_OK(status);
    assert_memory_equal(last, "}\n", 2);
    json_t *document = json_load_file(json_file_path, 0, NULL);
    assert_non_null(document);
    json_decref(document);
}

static void a_file_is_replaced_through_its_symbolic_link(void **state)
{
    (void)state;
    char link[128];
    struct stat info;
    snprintf(link, sizeof link, "%s/link.json", json_file_folder);
    fclose(fopen(json_file_path, "w"));
    assert_int_equal(symlink("out.json", link), 0);
    CHECK_OK(hr_json_write(link, json_object()));
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(stat(json_file_path, &info), 0);
    assert_true(info.st_size > 0);
    unlink(link);
}

/* A FIFO of the test's own, and not /dev/null: run by root with the code broken, that would go. */
static void what_is_no_regular_file_is_written_to_and_stays(void **state)
{
    (void)state;
    struct stat info;
    char text[16];
    assert_int_equal(mkfifo(json_file_path, 0600), 0);
    const int reader = open(json_file_path, O_RDONLY | O_NONBLOCK);
    assert_true(reader >= 0);
    CHECK_OK(hr_json_write(json_file_path, json_object()));
    assert_true(read(reader, text, sizeof text) > 0);
    close(reader);
    assert_int_equal(lstat(json_file_path, &info), 0);
    assert_true(S_ISFIFO(info.st_mode));
}

static void errors_name_the_path(void **state)
{
    (void)state;
    CHECK_FAILS(hr_json_write("/nowhere/at/all.json", json_object()), HR_E_IO);
    CHECK_MESSAGE("/nowhere/at/all.json: cannot be written: No such file");
    CHECK_FAILS(hr_json_write(json_file_folder, json_object()), HR_E_IO);
    CHECK_MESSAGE("is a folder");
    struct rlimit none = {0, 0}, usual;
    getrlimit(RLIMIT_FSIZE, &usual);
    none.rlim_max = usual.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &none);
    const enum hr_status status = hr_json_write(json_file_path, json_object());
    setrlimit(RLIMIT_FSIZE, &usual);
    assert_int_equal(status, HR_E_IO);
    CHECK_MESSAGE("out.json: File too large: ");
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, json_file_setup, json_file_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_dash_is_stdout_and_ends_in_a_newline),
        IN_FOLDER(a_file_is_replaced_through_its_symbolic_link),
        IN_FOLDER(what_is_no_regular_file_is_written_to_and_stays),
        IN_FOLDER(errors_name_the_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
