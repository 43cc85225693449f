/* Durable files: what is written is there whole, and what cannot be written says why. */
#include "base/file.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "support/check.h"
#include "support/scratch.h"

static void a_written_file_reads_back(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 4096, 1000003};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *data = malloc(sizes[i] + 1), *back;
        size_t bytes;
        for (size_t b = 0; b < sizes[i]; b++)
            data[b] = (char)(b * 7 + b / 251);
        CHECK_OK(hr_file_write_durably(scratch("f"), data, sizes[i]));
        CHECK_OK(hr_file_read_all(scratch("f"), sizes[i], &back, &bytes));
        assert_int_equal(bytes, sizes[i]);
        assert_memory_equal(data, back, sizes[i]);
        assert_int_equal(back[bytes], 0);
        free(back);
        free(data);
        CHECK_OK(hr_folder_remove(scratch("f")));
    }
}

static void a_name_that_is_taken_is_refused_and_kept(void **state)
{
    (void)state;
    scratch_write("f", "old", 3);
    CHECK_FAILS(hr_file_write_durably(scratch("f"), "new", 3), HR_E_IO);
    CHECK_MESSAGE("/f: cannot be created: File exists");
    assert_int_equal(symlink("elsewhere", scratch("link")), 0);
    CHECK_FAILS(hr_file_write_durably(scratch("link"), "new", 3), HR_E_IO);
    assert_false(scratch_exists("elsewhere"));
    size_t bytes;
    unsigned char *old = scratch_read("f", &bytes);
    assert_memory_equal(old, "old", 3);
    free(old);
}

enum { PIPED = 1 << 20 };

struct pipe_reader {
    int fd;
    unsigned char got[PIPED];
};

static atomic_int alarms;

static void on_alarm(int signal)
{
    (void)signal;
    atomic_fetch_add(&alarms, 1);
}

/* Reads only when the writer waits at a full pipe and was interrupted twice there: the first
 * interruption cuts its write short, the second is EINTR. */
static void *read_pipe(void *argument)
{
    struct pipe_reader *reader = argument;
    int before = -1, waiting = 0;
    const int full = fcntl(reader->fd, F_GETPIPE_SZ);
    while (before < 0 || atomic_load(&alarms) < before + 3) {
        ioctl(reader->fd, FIONREAD, &waiting);
        if (before < 0 && waiting == full)
            before = atomic_load(&alarms);
        sched_yield();
    }
    for (size_t at = 0; at < PIPED;) {
        const ssize_t n = read(reader->fd, reader->got + at, PIPED - at);
        if (n <= 0)
            break;
        at += (size_t)n;
    }
    return NULL;
}

static void short_and_interrupted_writes_are_continued(void **state)
{
    (void)state;
    static unsigned char in[PIPED];
    static struct pipe_reader reader;
    int ends[2];
    pthread_t thread;
    sigset_t alarm_only, before;
    const struct sigaction action = {.sa_handler = on_alarm}; /* no SA_RESTART */
    const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    for (size_t i = 0; i < PIPED; i++)
        in[i] = (unsigned char)(i * 31 + i / 509);
    assert_int_equal(pipe(ends), 0);
    reader.fd = ends[0];
    sigaction(SIGALRM, &action, NULL);
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm_only, &before); /* the reader inherits that */
    assert_int_equal(pthread_create(&thread, NULL, read_pipe, &reader), 0);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    struct hr_file_writer writer = {.path = "pipe", .fd = ends[1], .bytes = PIPED};
    const enum hr_status status = hr_file_write(&writer, in, PIPED);
    close(ends[1]);
    pthread_join(thread, NULL); /* it needs the alarms even when the write has failed */
    setitimer(ITIMER_REAL, &never, NULL);
    close(ends[0]);
    CHECK_OK(status);
    assert_memory_equal(in, reader.got, PIPED);
}

static void a_full_device_says_bytes_needed_and_free(void **state)
{
    (void)state;
    struct hr_file_writer writer = {.path = "/dev/full", .bytes = 12345};
    writer.fd = open("/dev/full", O_WRONLY);
    if (writer.fd < 0)
        SKIP("there is no /dev/full");
    CHECK_FAILS(hr_file_write(&writer, "data", 4), HR_E_IO);
    CHECK_MESSAGE("/dev/full: No space left on device: 12345 bytes needed, ");
    CHECK_MESSAGE(" free");
    close(writer.fd);
}

static void limit_file_size(rlim_t bytes)
{
    struct rlimit limit;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void space_that_is_not_there_is_missed_before_the_first_write(void **state)
{
    (void)state;
    struct hr_file_writer writer;
    limit_file_size(4096);
    const enum hr_status status = hr_file_create(&writer, scratch("f"), 10000);
    limit_file_size(RLIM_INFINITY);
    CHECK_FAILS(status, HR_E_IO);
    CHECK_MESSAGE("/f: File too large: 10000 bytes needed, the limit (ulimit -f) is 4096");
    assert_false(scratch_exists("f"));
}

static void a_write_that_fails_half_way_leaves_nothing(void **state)
{
    (void)state;
    static const char data[10000];
    struct hr_file_writer writer;
    CHECK_OK(hr_file_create(&writer, scratch("f"), 0)); /* says nothing of its size: no reserve */
    limit_file_size(4096);
    const enum hr_status status = hr_file_write(&writer, data, sizeof data);
    limit_file_size(RLIM_INFINITY);
    CHECK_FAILS(status, HR_E_IO);
    hr_file_abandon(&writer);
    hr_file_abandon(&writer); /* harmless */
    assert_false(scratch_exists("f"));
}

static void a_file_that_cannot_be_synced_is_an_error(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct hr_file_writer writer = {.path = scratch("gone"), .fd = ends[1], .bytes = 1};
    CHECK_FAILS(hr_file_finish(&writer), HR_E_IO); /* a pipe has no fsync */
    CHECK_MESSAGE("/gone: cannot be synced");
    assert_int_equal(writer.fd, -1);
    close(ends[0]);
}

static void reading_is_capped_and_only_of_regular_files(void **state)
{
    (void)state;
    char *text = NULL;
    size_t bytes = 7;
    scratch_write("f", "12345", 5);
    CHECK_FAILS(hr_file_read_all(scratch("f"), 4, &text, &bytes), HR_E_FORMAT);
    CHECK_MESSAGE("/f: is 5 bytes, at most 4");
    CHECK_FAILS(hr_file_read_all(scratch("none"), 4, &text, &bytes), HR_E_IO);
    CHECK_FAILS(hr_file_read_all(scratch(""), 4, &text, &bytes), HR_E_IO);
    CHECK_MESSAGE("is not a regular file");
    assert_int_equal(mkfifo(scratch("fifo"), 0600), 0); /* must not wait for a writer */
    CHECK_FAILS(hr_file_read_all(scratch("fifo"), 4, &text, &bytes), HR_E_IO);
    assert_null(text);
    assert_int_equal(bytes, 7);
}

static void a_file_that_shrinks_is_an_error(void **state)
{
    (void)state;
    int fd;
    size_t bytes;
    char data[5];
    scratch_write("f", "12345", 5);
    CHECK_OK(hr_file_open(scratch("f"), &fd, &bytes));
    assert_int_equal(truncate(scratch("f"), 3), 0);
    CHECK_FAILS(hr_file_read_at(fd, "f", 0, data, bytes), HR_E_IO);
    CHECK_MESSAGE("f: ends at byte 3, expected 5");
    close(fd);
}

static void folders_are_made_with_their_parents(void **state)
{
    (void)state;
    CHECK_OK(hr_folder_make(scratch("a/b//c/")));
    CHECK_OK(hr_folder_make(scratch("a/b/c")));
    assert_true(scratch_exists("a/b/c"));
    scratch_write("file", "x", 1);
    CHECK_FAILS(hr_folder_make(scratch("file")), HR_E_IO);
    CHECK_MESSAGE("/file: this folder cannot be made: File exists");
    CHECK_FAILS(hr_folder_make(scratch("file/under")), HR_E_IO);
    CHECK_FAILS(hr_folder_make(""), HR_E_IO);
}

static void a_folder_is_removed_with_its_files_but_not_with_folders(void **state)
{
    (void)state;
    CHECK_OK(hr_folder_make(scratch("a/b")));
    CHECK_FAILS(hr_folder_remove(scratch("a")), HR_E_IO);
    CHECK_MESSAGE("/a/b: cannot be removed");
    scratch_write("a/b/one", "1", 1);
    scratch_write("a/b/.two", "2", 1);
    CHECK_OK(hr_folder_remove(scratch("a/b")));
    assert_int_equal(scratch_entries("a"), 0);
    CHECK_OK(hr_folder_remove(scratch("nothing there")));
}

static void removing_a_symlink_leaves_its_target(void **state)
{
    (void)state;
    CHECK_OK(hr_folder_make(scratch("target")));
    scratch_write("target/kept", "x", 1);
    assert_int_equal(symlink("target", scratch("link")), 0);
    CHECK_OK(hr_folder_remove(scratch("link")));
    assert_false(scratch_exists("link"));
    assert_true(scratch_exists("target/kept"));
}

static void parents_are_found_and_long_paths_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"a/b", "a"},   {"b", "."},    {"/b", "/"},
                                           {"/", "/"},     {"a/", "."},   {"", "."},
                                           {"a//b/", "a"}, {"/a/b", "/a"}};
    char out[HR_PATH_MAX], path[HR_PATH_MAX + 1];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_OK(hr_path_parent(out, cases[i][0]));
        assert_string_equal(out, cases[i][1]);
    }
    memset(path, 'x', HR_PATH_MAX);
    path[HR_PATH_MAX] = 0;
    CHECK_FAILS(hr_path(out, "%s", path), HR_E_USAGE);
    path[HR_PATH_MAX - 1] = 0;
    CHECK_OK(hr_path(out, "%s", path));
}

static void free_space_is_told(void **state)
{
    (void)state;
    uint64_t bytes = 0;
    CHECK_OK(hr_folder_free_bytes(scratch(""), &bytes));
    assert_true(bytes > 0);
    CHECK_FAILS(hr_folder_free_bytes(scratch("none"), &bytes), HR_E_IO);
    CHECK_FAILS(hr_folder_sync(scratch("none")), HR_E_IO);
}

/* A link stays a link: the file behind it is replaced. */
static void a_file_is_replaced_behind_its_links(void **state)
{
    (void)state;
    struct stat info;
    size_t bytes;
    scratch_write("old", "old", 3);
    assert_int_equal(symlink("old", scratch("link")), 0);
    CHECK_OK(hr_file_replace_durably(scratch("link"), "longer", 6));
    assert_true(lstat(scratch("link"), &info) == 0 && S_ISLNK(info.st_mode));
    free(scratch_read("old", &bytes));
    assert_int_equal(bytes, 6);
    CHECK_OK(hr_file_replace_durably(scratch("new"), "x", 1));
    assert_int_equal(scratch_entries(""), 3);
}

static void what_was_to_be_replaced_stays_until_the_end(void **state)
{
    (void)state;
    struct hr_file_writer writer;
    size_t bytes;
    scratch_write("f", "old", 3);
    CHECK_OK(hr_file_replace(&writer, scratch("f"), 6));
    CHECK_OK(hr_file_write(&writer, "longer", 6));
    free(scratch_read("f", &bytes));
    assert_int_equal(bytes, 3);
    hr_file_abandon(&writer);
    free(scratch_read("f", &bytes));
    assert_int_equal(bytes, 3);
    assert_int_equal(scratch_entries(""), 1);
}

/* A name that is taken, by another process of this number, is passed by. */
static void a_temporary_has_a_name_of_its_own(void **state)
{
    (void)state;
    char taken[64];
    sprintf(taken, "f.%ld.0.tmp", (long)getpid());
    scratch_write(taken, "mine", 4);
    CHECK_OK(hr_file_replace_durably(scratch("f"), "new", 3));
    assert_true(scratch_exists(taken));
    assert_int_equal(scratch_entries(""), 2);
}

/* FIFOs, and not /dev/null: run by root with the code broken, that would go. */
static void what_is_no_regular_file_is_written_to_and_stays(void **state)
{
    (void)state;
    struct hr_file_writer writer;
    struct stat info;
    char text[8];
    assert_int_equal(mkfifo(scratch("fifo"), 0600), 0);
    const int reader = open(scratch("fifo"), O_RDONLY | O_NONBLOCK);
    assert_true(reader >= 0);
    CHECK_OK(hr_file_replace_durably(scratch("fifo"), "text", 4));
    assert_int_equal(read(reader, text, sizeof text), 4);
    CHECK_OK(hr_file_replace(&writer, scratch("fifo"), 4));
    hr_file_abandon(&writer);
    close(reader);
    assert_true(lstat(scratch("fifo"), &info) == 0 && S_ISFIFO(info.st_mode));
    CHECK_FAILS(hr_file_check_regular(scratch("fifo")), HR_E_IO);
    CHECK_MESSAGE("fifo: is no regular file, and only such a one is replaced");
    CHECK_OK(hr_file_check_regular(scratch("none")));
}

static void what_cannot_be_replaced_says_so_and_leaves_nothing(void **state)
{
    (void)state;
    CHECK_FAILS(hr_file_replace_durably(scratch("no/such/folder"), "x", 1), HR_E_IO);
    CHECK_MESSAGE("no/such/folder: cannot be written: No such file");
    CHECK_FAILS(hr_file_replace_durably(scratch(""), "x", 1), HR_E_IO);
    CHECK_MESSAGE("is a folder");
    limit_file_size(4096);
    struct hr_file_writer writer;
    const enum hr_status status = hr_file_replace(&writer, scratch("f"), 10000);
    limit_file_size(RLIM_INFINITY);
    CHECK_FAILS(status, HR_E_IO);
    CHECK_MESSAGE("/f: File too large: 10000 bytes needed");
    assert_int_equal(scratch_entries(""), 0);
}

/* What hr_file_replace would say after hours; nothing is made. */
static void what_could_not_be_replaced_is_known_before(void **state)
{
    (void)state;
    scratch_write("f", "old", 3);
    assert_int_equal(symlink("f", scratch("link")), 0);
    assert_int_equal(mkfifo(scratch("fifo"), 0600), 0);
    CHECK_OK(hr_file_check_writable(scratch("f")));
    CHECK_OK(hr_file_check_writable(scratch("new")));
    CHECK_OK(hr_file_check_writable(scratch("link")));
    CHECK_OK(hr_file_check_writable(scratch("fifo")));
    CHECK_OK(hr_file_check_writable("a-name-alone"));
    CHECK_FAILS(hr_file_check_writable(scratch("f/inside")), HR_E_IO);
    CHECK_MESSAGE("f/inside: cannot be written into its folder: Not a directory");
    CHECK_FAILS(hr_file_check_writable(scratch("none/inside")), HR_E_IO);
    CHECK_MESSAGE("none/inside: cannot be written into its folder: No such file");
    CHECK_FAILS(hr_file_check_writable(scratch("")), HR_E_IO);
    CHECK_MESSAGE("is a folder");
    assert_int_equal(scratch_entries(""), 3);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_is_replaced_behind_its_links),
        TEST(what_was_to_be_replaced_stays_until_the_end),
        TEST(a_temporary_has_a_name_of_its_own),
        TEST(what_is_no_regular_file_is_written_to_and_stays),
        TEST(what_cannot_be_replaced_says_so_and_leaves_nothing),
        TEST(what_could_not_be_replaced_is_known_before),
        TEST(a_written_file_reads_back),
        TEST(a_name_that_is_taken_is_refused_and_kept),
        TEST(short_and_interrupted_writes_are_continued),
        TEST(a_full_device_says_bytes_needed_and_free),
        TEST(space_that_is_not_there_is_missed_before_the_first_write),
        TEST(a_write_that_fails_half_way_leaves_nothing),
        TEST(a_file_that_cannot_be_synced_is_an_error),
        TEST(reading_is_capped_and_only_of_regular_files),
        TEST(a_file_that_shrinks_is_an_error),
        TEST(folders_are_made_with_their_parents),
        TEST(a_folder_is_removed_with_its_files_but_not_with_folders),
        TEST(removing_a_symlink_leaves_its_target),
        TEST(parents_are_found_and_long_paths_refused),
        TEST(free_space_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
