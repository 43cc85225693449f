/* Traces: what owners append is what cursors read, in eight bytes a usual entry; parts come and go;
 * what cannot be written is said once, in one line. */
#include "trace/trace.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/philox.h"
#include "support/check.h"
#include "support/scratch.h"

/* Entry `number` of an owner: as a run has it, or anything at all. */
static struct hr_trace_entry usual_entry(size_t owner, uint64_t number)
{
    const uint32_t word = hr_random_block(check_seed(), HR_STREAM_TEST, number, 0).v[0];
    return (struct hr_trace_entry){.kind = (uint32_t)(number & 1),
                                   .rank = (uint32_t)((number + owner) % 64),
                                   .step = number / 64,
                                   .value = number / 2 * 3 + owner,
                                   .duration_ns = 9000000 + word % 2000000};
}

static uint64_t any_number(uint64_t number, uint32_t lane)
{
    const struct hr_philox w = hr_random_block(check_seed(), HR_STREAM_TEST, number, lane);
    return ((uint64_t)w.v[0] << 32 | w.v[1]) >> (w.v[2] % 64);
}

static struct hr_trace_entry any_entry(size_t owner, uint64_t number)
{
    const uint32_t lane = (uint32_t)owner * 8;
    return (struct hr_trace_entry){.kind = (uint32_t)any_number(number, lane),
                                   .rank = (uint32_t)any_number(number, lane + 1) % 4096,
                                   .step = any_number(number, lane + 2),
                                   .value = any_number(number, lane + 3),
                                   .duration_ns = any_number(number, lane + 4)};
}

typedef struct hr_trace_entry (*entry_fn)(size_t owner, uint64_t number);

static void write_log(const char *path, size_t owner, entry_fn make, uint64_t n)
{
    struct hr_trace_log log;
    CHECK_OK(hr_trace_log_open(&log, NULL, path, owner, 4096));
    for (uint64_t number = 0; number < n; number++) {
        const struct hr_trace_entry entry = make(owner, number);
        hr_trace_append(&log, &entry);
    }
    CHECK_OK(hr_trace_log_close(&log));
}

static void check_log(const struct hr_trace *trace, size_t owner, entry_fn make, uint64_t n)
{
    struct hr_trace_cursor cursor;
    CHECK_OK(hr_trace_cursor_open(&cursor, trace, owner));
    for (int round = 0; round < 2; round++, hr_trace_rewind(&cursor)) {
        for (uint64_t number = 0; number < n; number++, hr_trace_next(&cursor)) {
            const struct hr_trace_entry want = make(owner, number), *got = hr_trace_peek(&cursor);
            assert_non_null(got);
            assert_true(got->kind == want.kind && got->rank == want.rank);
            assert_true(got->step == want.step && got->value == want.value);
            assert_true(got->duration_ns == want.duration_ns);
        }
        assert_null(hr_trace_peek(&cursor));
        hr_trace_next(&cursor);
        assert_null(hr_trace_peek(&cursor));
    }
    hr_trace_cursor_close(&cursor);
}

static void what_is_appended_is_read(void **state)
{
    (void)state;
    static const uint64_t counts[] = {20000, 0, 1, 3000};
    struct hr_trace_recording recording;
    struct hr_trace trace;
    const char *path = scratch("run.trace");
    for (int usual = 0; usual < 2; usual++) {
        const entry_fn make = usual ? usual_entry : any_entry;
        CHECK_OK(hr_trace_begin(&recording, path, 4));
        for (size_t owner = 4; owner-- > 0;)
            write_log(path, owner, make, counts[owner]);
        assert_int_equal(scratch_entries(""), 4 + usual);
        CHECK_OK(hr_trace_assemble(&recording, "{\"seed\": 1}", "{}"));
        assert_int_equal(scratch_entries(""), 1);
        CHECK_OK(hr_trace_open(path, &trace));
        assert_string_equal(trace.header, "{\"seed\": 1}");
        assert_string_equal(trace.trailer, "{}");
        assert_int_equal(trace.nowners, 4);
        for (size_t owner = 0; owner < 4; owner++) {
            assert_int_equal(trace.owner[owner].entries, counts[owner]);
            check_log(&trace, owner, make, counts[owner]);
        }
        hr_trace_fini(&trace);
    }
}

static void usual_entries_take_eight_bytes(void **state)
{
    (void)state;
    enum { N = 100000 };
    struct hr_trace_recording recording;
    struct hr_trace trace;
    const char *path = scratch("run.trace");
    CHECK_OK(hr_trace_begin(&recording, path, 1));
    write_log(path, 0, usual_entry, N);
    CHECK_OK(hr_trace_assemble(&recording, "", ""));
    CHECK_OK(hr_trace_open(path, &trace));
    print_message("%.2f bytes per entry\n", (double)trace.owner[0].bytes / N);
    assert_true(trace.owner[0].bytes <= 8 * N);
    hr_trace_fini(&trace);
}

/* The format is for other readers too: this is the file, byte by byte. */
static void files_are_what_the_header_says(void **state)
{
    (void)state;
    static const struct hr_trace_entry entries[] = {
        {1, 0, 0, 5, 300}, {1, 0, 1, 4, 0}, {2, 1, 7, 0, 1}, {17, 0, 1, 4, 1}};
    static const unsigned char want[] = {
        'H', 'O', 'G', 'T',  'R', 'A', 'C', 'E', 1, 0,  0, 0, 1, 0,  0,  0, /* version, owners */
        2,   0,   0,   0,    0,   0,   0,   0,   1, 0,  0, 0, 0, 0,  0,  0, '{', '}', /* texts */
        0,   0,   0,   0,    2,   0,   0,   0,   4, 0,  0, 0, 0, 0,  0,  0, 18,  0,   0,
        0,   0,   0,   0,    0, /* log */
        5,   0,   10,  0xac, 2,   5,   0,   1,   0, 10, 1, 0, 1, 16, 68, 0, 0,   1,   '!'};
    struct hr_trace_recording recording;
    struct hr_trace_log log;
    const char *path = scratch("run.trace");
    CHECK_OK(hr_trace_begin(&recording, path, 1));
    CHECK_OK(hr_trace_log_open(&log, NULL, path, 0, 2));
    for (size_t i = 0; i < 4; i++)
        hr_trace_append(&log, &entries[i]);
    CHECK_OK(hr_trace_log_close(&log));
    CHECK_OK(hr_trace_assemble(&recording, "{}", "!"));
    size_t bytes;
    unsigned char *file = scratch_read("run.trace", &bytes);
    assert_int_equal(bytes, sizeof want + 16);
    assert_memory_equal(file, want, sizeof want);
    free(file);
}

/* --- several writers at once */

static void *write_third(void *path)
{
    write_log(path, 2, any_entry, 20000);
    return NULL;
}

static void processes_and_threads_write_at_once(void **state)
{
    (void)state;
    struct hr_trace_recording recording;
    struct hr_trace trace;
    pthread_t thread;
    int code[2];
    char path[300];
    snprintf(path, sizeof path, "%s", scratch("run.trace"));
    CHECK_OK(hr_trace_begin(&recording, path, 3));
    pid_t child[2];
    for (size_t owner = 0; owner < 2; owner++)
        if ((child[owner] = fork()) == 0) {
            write_log(path, owner, any_entry, 20000);
            _exit(0);
        }
    assert_int_equal(pthread_create(&thread, NULL, write_third, path), 0);
    pthread_join(thread, NULL);
    for (size_t owner = 0; owner < 2; owner++) {
        waitpid(child[owner], &code[owner], 0);
        assert_int_equal(code[owner], 0);
    }
    CHECK_OK(hr_trace_assemble(&recording, "", ""));
    CHECK_OK(hr_trace_open(path, &trace));
    for (size_t owner = 0; owner < 3; owner++)
        check_log(&trace, owner, any_entry, 20000);
    hr_trace_fini(&trace);
}

/* --- a log outlives who writes it */

static _Noreturn void append_for_ever(struct hr_trace_log *log)
{
    for (uint64_t number = 0;; number++) {
        const struct hr_trace_entry entry = usual_entry(0, number);
        hr_trace_append(log, &entry);
    }
}

/* A child appends entries, and is killed at any time; the log goes on behind its last one. */
static void kill_who_appends(const char *path, void *tail, uint64_t least)
{
    struct hr_trace_recording recording;
    struct hr_trace trace;
    struct hr_trace_log log;
    memset(tail, 0, hr_trace_tail_bytes(4096));
    CHECK_OK(hr_trace_begin(&recording, path, 1));
    CHECK_OK(hr_trace_log_open(&log, tail, path, 0, 4096));
    const pid_t child = fork();
    if (child == 0)
        append_for_ever(&log);
    while (hr_trace_log_entries(&log) < least)
        continue;
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    hr_trace_log_mend(&log);
    const uint64_t n = hr_trace_log_entries(&log);
    for (uint64_t number = n; number < n + 100; number++) {
        const struct hr_trace_entry entry = usual_entry(0, number);
        hr_trace_append(&log, &entry);
    }
    CHECK_OK(hr_trace_log_close(&log));
    CHECK_OK(hr_trace_assemble(&recording, "", ""));
    CHECK_OK(hr_trace_open(path, &trace));
    assert_int_equal(trace.owner[0].entries, n + 100);
    check_log(&trace, 0, usual_entry, n + 100);
    hr_trace_fini(&trace);
}

static void a_log_goes_on_after_its_writer_was_killed(void **state)
{
    (void)state;
    char path[300];
    snprintf(path, sizeof path, "%s", scratch("run.trace"));
    void *tail = mmap(NULL, hr_trace_tail_bytes(4096), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(tail != MAP_FAILED);
    for (uint64_t kill = 0; kill < check_count(40, 2000); kill++)
        kill_who_appends(path, tail, any_number(kill, 0) % 5000);
    munmap(tail, hr_trace_tail_bytes(4096));
}

/* --- parts */

static void two_runs_do_not_record_into_one_file(void **state)
{
    (void)state;
    struct hr_trace_recording one, two;
    const char *path = scratch("run.trace");
    CHECK_OK(hr_trace_begin(&one, path, 2));
    CHECK_FAILS(hr_trace_begin(&two, path, 2), HR_E_IO);
    CHECK_MESSAGE("run.trace.part0: another run records there");
    hr_trace_abandon(&two);
    assert_int_equal(scratch_entries(""), 1);
    hr_trace_abandon(&one);
    assert_int_equal(scratch_entries(""), 0);
    CHECK_OK(hr_trace_begin(&two, path, 2));
    hr_trace_abandon(&two);
}

/* A run of three owners is killed; one of `owners` records into the same file. */
static void record_after_a_kill(size_t owners)
{
    struct hr_trace_recording recording;
    const char *path = scratch("run.trace");
    const pid_t child = fork();
    if (child == 0) {
        CHECK_OK(hr_trace_begin(&recording, path, 3));
        for (size_t owner = 0; owner < 3; owner++)
            write_log(path, owner, any_entry, 100);
        raise(SIGKILL);
    }
    waitpid(child, NULL, 0);
    assert_int_equal(scratch_entries(""), 3);
    CHECK_OK(hr_trace_begin(&recording, path, owners));
    for (size_t owner = 0; owner < owners; owner++)
        write_log(path, owner, usual_entry, 10);
    CHECK_OK(hr_trace_assemble(&recording, "", ""));
    assert_int_equal(scratch_entries(""), 1);
    unlink(path);
}

static void parts_of_a_killed_run_are_replaced(void **state)
{
    (void)state;
    for (size_t owners = 1; owners <= 4; owners++)
        record_after_a_kill(owners);
}

static void files_of_others_are_left_alone(void **state)
{
    (void)state;
    static const char *const names[] = {"run.trace.part0", "run.trace.part1"};
    struct hr_trace_recording recording;
    for (size_t i = 0; i < 2; i++) {
        size_t bytes;
        scratch_write(names[i], "my own file", 11);
        CHECK_FAILS(hr_trace_begin(&recording, scratch("run.trace"), 2), HR_E_IO);
        CHECK_MESSAGE("is not a part of a trace, and is in the way");
        unsigned char *file = scratch_read(names[i], &bytes);
        assert_int_equal(bytes, 11);
        free(file);
        assert_int_equal(scratch_entries(""), 1);
        unlink(scratch(names[i]));
    }
    scratch_write("run.trace.part1", "my own file", 11); /* in nobody's way */
    CHECK_OK(hr_trace_begin(&recording, scratch("run.trace"), 1));
    hr_trace_abandon(&recording);
    assert_int_equal(scratch_entries(""), 1);
    CHECK_FAILS(hr_trace_begin(&recording, "/dev/null", 1), HR_E_IO);
    CHECK_MESSAGE("/dev/null: is no regular file");
    CHECK_FAILS(hr_trace_begin(&recording, "/nowhere/at/all", 1), HR_E_IO);
    CHECK_MESSAGE("/nowhere/at/all.part0: cannot be created");
}

/* An owner that is lost leaves no end, or no part; the trace that was there stays. */
static void a_log_that_was_not_finished_is_refused(void **state)
{
    (void)state;
    struct hr_trace_recording recording;
    struct hr_trace_log log;
    const char *path = scratch("run.trace");
    scratch_write("run.trace", "before", 6);
    CHECK_OK(hr_trace_begin(&recording, path, 2));
    write_log(path, 0, any_entry, 10);
    CHECK_FAILS(hr_trace_assemble(&recording, "", ""), HR_E_IO);
    CHECK_MESSAGE("run.trace.part1: cannot be opened");
    CHECK_OK(hr_trace_begin(&recording, path, 2));
    write_log(path, 1, any_entry, 10000);
    CHECK_OK(hr_trace_log_open(&log, NULL, path, 0, 4096));
    const struct hr_trace_entry entry = any_entry(0, 0);
    hr_trace_append(&log, &entry);
    hr_trace_log_flush(&log);
    CHECK_FAILS(hr_trace_assemble(&recording, "", ""), HR_E_IO);
    CHECK_MESSAGE("run.trace.part0: this log was not finished");
    CHECK_OK(hr_trace_log_close(&log));
    assert_int_equal(scratch_entries(""), 1);
    size_t bytes;
    free(scratch_read("run.trace", &bytes));
    assert_int_equal(bytes, 6);
}

/* --- what cannot be written: a limit on file sizes stands for a full disk */

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
}

static void a_write_that_fails_is_told_at_close(void **state)
{
    (void)state;
    struct hr_trace_recording recording;
    struct hr_trace_log log;
    const char *path = scratch("run.trace");
    signal(SIGXFSZ, SIG_IGN);
    CHECK_OK(hr_trace_begin(&recording, path, 1));
    CHECK_OK(hr_trace_log_open(&log, NULL, path, 0, 4096));
    limit_files(100000);
    for (uint64_t number = 0; number < 50000; number++) {
        const struct hr_trace_entry entry = any_entry(0, number);
        hr_trace_append(&log, &entry);
    }
    const enum hr_status status = hr_trace_log_close(&log);
    limit_files(RLIM_INFINITY);
    CHECK_FAILS(status, HR_E_IO);
    CHECK_MESSAGE("run.trace.part0: cannot be written beyond 100000 bytes");
    CHECK_FAILS(hr_trace_assemble(&recording, "", ""), HR_E_IO);
    assert_int_equal(scratch_entries(""), 0);
}

/* Not a bound: machines differ. What it costs is printed. */
static void the_cost_of_an_append_is_printed(void **state)
{
    (void)state;
    enum { N = 1000000 };
    struct hr_trace_recording recording;
    struct hr_trace_log log;
    CHECK_OK(hr_trace_begin(&recording, scratch("run.trace"), 1));
    CHECK_OK(hr_trace_log_open(&log, NULL, scratch("run.trace"), 0, 64));
    const uint64_t start = hr_clock_ns();
    for (uint64_t number = 0; number < N; number++)
        hr_trace_append(&log, &(struct hr_trace_entry){.kind = (uint32_t)(number & 1),
                                                       .rank = (uint32_t)(number % 64),
                                                       .step = number / 64,
                                                       .value = number,
                                                       .duration_ns = 10000000 + number % 4096});
    print_message("%.1f ns an append\n", (double)(hr_clock_ns() - start) / N);
    CHECK_OK(hr_trace_log_close(&log));
    hr_trace_abandon(&recording);
}

#define WITH_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SCRATCH(what_is_appended_is_read),
        WITH_SCRATCH(usual_entries_take_eight_bytes),
        WITH_SCRATCH(files_are_what_the_header_says),
        WITH_SCRATCH(a_log_goes_on_after_its_writer_was_killed),
        WITH_SCRATCH(processes_and_threads_write_at_once),
        WITH_SCRATCH(two_runs_do_not_record_into_one_file),
        WITH_SCRATCH(parts_of_a_killed_run_are_replaced),
        WITH_SCRATCH(files_of_others_are_left_alone),
        WITH_SCRATCH(a_log_that_was_not_finished_is_refused),
        WITH_SCRATCH(a_write_that_fails_is_told_at_close),
        WITH_SCRATCH(the_cost_of_an_append_is_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
