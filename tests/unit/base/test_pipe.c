/* FIFOs and devices are read and written, and nothing that never answers is waited for for ever. */
#include "base/pipe.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/signals.h"
#include "support/check.h"
#include "support/scratch.h"

enum { CAP = 1 << 20, SHORT_MS = 100, LONG_MS = 200 * 1000 };

static char fifo[HR_PATH_MAX];

static int make_fifo(void **state)
{
    snprintf(fifo, sizeof fifo, "%s", scratch("fifo"));
    return mkfifo(scratch("fifo"), 0600) && state;
}

static int remove_fifo(void **state)
{
    return unlink(fifo) && state;
}

static void read_and_compare(const char *wanted)
{
    char *text = NULL;
    size_t bytes = 0;
    CHECK_OK(hr_pipe_read_all(fifo, CAP, &text, &bytes));
    assert_int_equal(bytes, strlen(wanted));
    assert_string_equal(text, wanted);
    free(text);
}

static void *write_in_two_pieces(void *unused)
{
    const int fd = open(fifo, O_WRONLY);
    const bool good = write(fd, "lr = ", 5) == 5 && write(fd, "0.5\n", 4) == 4;
    close(fd);
    return good ? unused : NULL;
}

static void a_fifo_that_somebody_writes_to_is_read_to_its_end(void **state)
{
    (void)state;
    pthread_t writer;
    hr_pipe_patience(LONG_MS);
    assert_int_equal(pthread_create(&writer, NULL, write_in_two_pieces, NULL), 0);
    read_and_compare("lr = 0.5\n");
    pthread_join(writer, NULL);
}

static void check_fails_to_read(const char *path, enum hr_status status, const char *why)
{
    char *text = NULL;
    size_t bytes = 0;
    CHECK_FAILS(hr_pipe_read_all(path, CAP, &text, &bytes), status);
    CHECK_MESSAGE(why);
    assert_null(text);
}

static void what_has_no_end_and_what_never_begins_is_refused(void **state)
{
    (void)state;
    hr_pipe_patience(SHORT_MS);
    check_fails_to_read(fifo, HR_E_IO, "its end did not come in 0.1 s");
    hr_pipe_patience(LONG_MS);
    check_fails_to_read("/dev/zero", HR_E_FORMAT, "more than 1048576 bytes, or no end");
    check_fails_to_read("/dev/urandom", HR_E_FORMAT, "more than 1048576 bytes, or no end");
    check_fails_to_read("/", HR_E_IO, "/: cannot be read: Is a directory");
    check_fails_to_read("/nowhere", HR_E_IO, "/nowhere: cannot be opened");
}

static void ignore(int number)
{
    (void)number;
}

static void signals_do_not_lengthen_a_wait(void **state)
{
    (void)state;
    const struct itimerval often = {{0, 20000}, {0, 20000}}, never = {{0, 0}, {0, 0}};
    signal(SIGALRM, ignore);
    hr_pipe_patience(SHORT_MS);
    setitimer(ITIMER_REAL, &often, NULL);
    check_fails_to_read(fifo, HR_E_IO, "its end did not come");
    setitimer(ITIMER_REAL, &never, NULL);
}

static void a_fifo_that_nobody_reads_is_given_up(void **state)
{
    (void)state;
    static const char much[CAP];
    struct hr_file_writer writer;
    hr_pipe_patience(SHORT_MS);
    CHECK_FAILS(hr_file_replace_durably(fifo, "x", 1), HR_E_IO);
    CHECK_MESSAGE("nobody read from it in 0.1 s");
    const int reader = open(fifo, O_RDONLY | O_NONBLOCK); /* which opens it, and is full soon */
    assert_true(reader >= 0);
    CHECK_OK(hr_file_replace(&writer, fifo, sizeof much));
    CHECK_FAILS(hr_file_write(&writer, much, sizeof much), HR_E_IO);
    CHECK_MESSAGE("nobody read from it in 0.1 s");
    hr_file_abandon(&writer);
    close(reader);
}

/* The seconds from a signal to the end of the process are not waited for. */
static void a_signal_that_no_run_answers_ends_a_wait(void **state)
{
    (void)state;
    hr_pipe_patience(LONG_MS);
    hr_signals_catch();
    signal(SIGALRM, SIG_IGN);
    raise(SIGTERM);
    check_fails_to_read(fifo, HR_E_INTERRUPTED, "fifo: interrupted");
    CHECK_FAILS(hr_file_replace_durably(fifo, "x", 1), HR_E_INTERRUPTED);
    hr_pipe_patience(SHORT_MS);
    hr_signals_run_begins();
    check_fails_to_read(fifo, HR_E_IO, "its end did not come"); /* the run ends at it */
    hr_signals_run_ended();
    check_fails_to_read(fifo, HR_E_IO, "its end did not come");
    raise(SIGTERM);
    check_fails_to_read(fifo, HR_E_INTERRUPTED, "fifo: interrupted");
    hr_signals_run_begins();
    hr_signals_run_ended();
}

static void *read_slowly(void *count)
{
    static const struct timespec pause = {.tv_nsec = 1000000};
    static char buffer[4096];
    const int fd = open(fifo, O_RDONLY);
    for (ssize_t got; (got = read(fd, buffer, sizeof buffer)) > 0;) {
        *(size_t *)count += (size_t)got;
        nanosleep(&pause, NULL);
    }
    close(fd);
    return NULL;
}

static void a_fifo_is_written_whole_to_a_slow_reader(void **state)
{
    (void)state;
    static const char much[CAP];
    pthread_t reader;
    size_t count = 0;
    hr_pipe_patience(LONG_MS);
    assert_int_equal(pthread_create(&reader, NULL, read_slowly, &count), 0);
    CHECK_OK(hr_file_replace_durably(fifo, much, sizeof much));
    pthread_join(reader, NULL);
    assert_int_equal(count, sizeof much);
}

#define WITH_FIFO(test) cmocka_unit_test_setup_teardown(test, make_fifo, remove_fifo)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIFO(a_fifo_that_somebody_writes_to_is_read_to_its_end),
        WITH_FIFO(what_has_no_end_and_what_never_begins_is_refused),
        WITH_FIFO(signals_do_not_lengthen_a_wait),
        WITH_FIFO(a_fifo_that_nobody_reads_is_given_up),
        WITH_FIFO(a_signal_that_no_run_answers_ends_a_wait),
        WITH_FIFO(a_fifo_is_written_whole_to_a_slow_reader),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
