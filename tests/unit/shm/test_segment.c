/* Segments: what is taken is there, named or not, and nothing is left behind. */
#include "shm/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "support/check.h"
#include "support/ranks.h"
#include "support/scratch.h"

enum { KIB = 1024, MIB = 1024 * KIB, PAGE = 4096 };

static bool all_zero(const struct hr_segment *segment)
{
    const unsigned char *byte = segment->base;
    for (size_t i = 0; i < segment->bytes; i++)
        if (byte[i])
            return false;
    return true;
}

static void touch_every_page(const struct hr_segment *segment)
{
    for (size_t at = 0; at < segment->bytes; at += PAGE)
        ((volatile unsigned char *)segment->base)[at] = 1;
    ((volatile unsigned char *)segment->base)[segment->bytes - 1] = 2;
}

static const char *path_of(const char *name)
{
    static char path[300];
    snprintf(path, sizeof path, "/dev/shm%s", name);
    return path;
}

static bool stands_in_dev_shm(const char *name)
{
    struct stat info;
    return stat(path_of(name), &info) == 0;
}

/* --- one segment ------------------------------------------------------------------------------ */

static void segment_is_zeroed_and_as_large_as_asked(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 4095, 4096, 4097, 3 * MIB + 5};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int named = 0; named < 2; named++) {
            struct hr_segment segment;
            CHECK_OK(hr_segment_create(sizes[s], named, &segment));
            assert_int_equal(segment.bytes, sizes[s]);
            assert_int_equal((uintptr_t)segment.base % PAGE, 0);
            assert_true(all_zero(&segment));
            touch_every_page(&segment);
            hr_segment_destroy(&segment);
        }
    assert_int_equal(segments_of(getpid()), 0);
}

static void segment_of_no_bytes_is_a_segment(void **state)
{
    (void)state;
    struct hr_segment segment;
    CHECK_OK(hr_segment_create(0, false, &segment));
    assert_non_null(segment.base);
    hr_segment_destroy(&segment);
}

static void named_segment_stands_in_dev_shm_until_destroyed(void **state)
{
    (void)state;
    struct hr_segment segment, other;
    struct stat info;
    char name[sizeof segment.name], start[64];
    CHECK_OK(hr_segment_create(10000, true, &segment));
    CHECK_OK(hr_segment_create(10000, true, &other));
    assert_string_not_equal(segment.name, other.name);
    snprintf(start, sizeof start, "/hogring.%ld.", (long)getpid());
    assert_memory_equal(segment.name, start, strlen(start));
    assert_int_equal(stat(path_of(segment.name), &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
    assert_int_equal(info.st_size, 10000);
    assert_true(info.st_blocks * 512 >= 10000); /* allocated, not only promised */
    strcpy(name, segment.name);
    hr_segment_destroy(&segment);
    hr_segment_destroy(&segment); /* harmless */
    assert_false(stands_in_dev_shm(name));
    assert_true(stands_in_dev_shm(other.name));
    hr_segment_destroy(&other);
}

static void another_process_attaches_by_name(void **state)
{
    (void)state;
    struct hr_segment segment;
    CHECK_OK(hr_segment_create(PAGE, true, &segment));
    const int fd = shm_open(segment.name, O_RDONLY, 0);
    assert_true(fd >= 0);
    const char *seen = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
    assert_true(seen != MAP_FAILED);
    strcpy(segment.base, "hello");
    assert_string_equal(seen, "hello");
    munmap((void *)(uintptr_t)seen, PAGE);
    close(fd);
    hr_segment_destroy(&segment);
}

static void unnamed_segment_leaves_no_name(void **state)
{
    (void)state;
    struct hr_segment segment;
    CHECK_OK(hr_segment_create(PAGE, false, &segment));
    assert_string_equal(segment.name, "");
    assert_int_equal(segments_of(getpid()), 0);
    touch_every_page(&segment);
    hr_segment_destroy(&segment);
}

static void more_than_the_machine_has_is_an_answer(void **state)
{
    (void)state;
    struct hr_segment segment;
    CHECK_FAILS(hr_segment_create((size_t)1 << 50, true, &segment), HR_E_NOMEM);
    CHECK_MESSAGE("shared memory: needs 1.0 PiB of memory, and there is");
    hr_memory_limit_set((size_t)1 << 52); /* whoever says that there is */
    CHECK_FAILS(hr_segment_create((size_t)1 << 50, true, &segment), HR_E_SHM);
    CHECK_MESSAGE("1099511627776 KiB of shared memory needed");
    hr_memory_limit_set(0);
    assert_int_equal(segments_of(getpid()), 0);
}

static int exit_code_of(pid_t child)
{
    int status;
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status)); /* SIGBUS, for one, is not an exit */
    return WEXITSTATUS(status);
}

static void parent_and_forked_child_share_it(void **state)
{
    (void)state;
    if (!ranks_can_fork())
        SKIP("a sanitizer's program cannot fork ranks");
    struct hr_segment segment;
    CHECK_OK(hr_segment_create(PAGE, false, &segment));
    volatile int *word = segment.base;
    word[0] = 41;
    const pid_t child = fork();
    if (child == 0) {
        word[1] = word[0] + 1;
        _exit(0);
    }
    assert_int_equal(exit_code_of(child), 0);
    assert_int_equal(word[1], 42);
    hr_segment_destroy(&segment);
}

static void on_alarm(int signal)
{
    (void)signal;
}

/* On many kernels tmpfs gives up an allocation when a signal comes: that is no lack of memory. */
static void signal_while_allocating_changes_nothing(void **state)
{
    (void)state;
    const struct sigaction action = {.sa_handler = on_alarm}, usual = {.sa_handler = SIG_DFL};
    const struct itimerval often = {{0, 10000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    struct hr_segment segment;
    sigaction(SIGALRM, &action, NULL);
    scratch_stderr_begin();
    setitimer(ITIMER_REAL, &often, NULL);
    const enum hr_status status = hr_segment_create(32 * MIB, true, &segment);
    setitimer(ITIMER_REAL, &never, NULL);
    const char *said = scratch_stderr_end();
    sigaction(SIGALRM, &usual, NULL);
    CHECK_OK(status);
    assert_string_equal(said, "");
    assert_string_not_equal(segment.name, "");
    hr_segment_destroy(&segment);
}

/* --- too small a /dev/shm ----------------------------------------------------------------------
 */

enum { FINE = 10, NOT_PERMITTED, CREATE_FAILED, NAME_KEPT, NOT_ZERO, SMALL_FAILED };

/* In a child: with a /dev/shm that nobody else sees. */
static int in_a_dev_shm(const char *mount_options, int (*what)(bool), bool named)
{
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", "/dev/shm", "tmpfs", 0, mount_options) != 0)
        return NOT_PERMITTED;
    return what(named);
}

static int take_too_much(bool named)
{
    struct hr_segment segment, small;
    if (hr_segment_create(8 * MIB, named, &segment) != HR_OK)
        return CREATE_FAILED;
    if (segment.name[0])
        return NAME_KEPT;
    if (!all_zero(&segment))
        return NOT_ZERO;
    touch_every_page(&segment);
    /* The failed attempt took nothing: what fits still gets its name. */
    if (hr_segment_create(512 * KIB, true, &small) != HR_OK || !small.name[0])
        return SMALL_FAILED;
    touch_every_page(&small);
    hr_segment_destroy(&small);
    hr_segment_destroy(&segment);
    return FINE;
}

static size_t count_of(const char *text, char c)
{
    size_t count = 0;
    for (; *text; text++)
        count += *text == c;
    return count;
}

static int take_by_name(bool named)
{
    struct hr_segment segment;
    if (hr_segment_create(8 * MIB, named, &segment) != HR_OK)
        return CREATE_FAILED;
    touch_every_page(&segment);
    const bool has_name = segment.name[0];
    hr_segment_destroy(&segment);
    return has_name == named ? FINE : SMALL_FAILED;
}

/* Runs `what` in a child with such a /dev/shm; what it says on stderr. */
static const char *said_in_a_dev_shm(const char *mount_options, int (*what)(bool), bool named)
{
    if (!ranks_can_fork())
        SKIP("a sanitizer's program cannot fork ranks");
    fflush(NULL);
    scratch_stderr_begin();
    const pid_t child = fork();
    if (child == 0)
        _exit(in_a_dev_shm(mount_options, what, named));
    const int code = exit_code_of(child);
    const char *said = scratch_stderr_end();
    if (code == NOT_PERMITTED) {
        SKIP("mount namespaces are not permitted here");
    }
    assert_int_equal(code, FINE);
    return said;
}

static void small_dev_shm_is_a_warning_and_never_sigbus(void **state)
{
    (void)state;
    for (int named = 0; named < 2; named++) {
        const char *said = said_in_a_dev_shm("size=1m", take_too_much, named);
        assert_int_equal(count_of(said, '\n'), 1);
        assert_non_null(strstr(said, "hogring: warning: /dev/shm: "));
        assert_non_null(strstr(said, "8192 KiB needed, 1024 KiB free"));
        assert_non_null(strstr(said, "--shm-size"));
    }
}

static void dev_shm_without_limit_is_used(void **state)
{
    (void)state;
    for (int named = 0; named < 2; named++)
        assert_string_equal(said_in_a_dev_shm("size=0", take_by_name, named), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segment_is_zeroed_and_as_large_as_asked),
        cmocka_unit_test(segment_of_no_bytes_is_a_segment),
        cmocka_unit_test(named_segment_stands_in_dev_shm_until_destroyed),
        cmocka_unit_test(another_process_attaches_by_name),
        cmocka_unit_test(unnamed_segment_leaves_no_name),
        cmocka_unit_test(more_than_the_machine_has_is_an_answer),
        cmocka_unit_test(parent_and_forked_child_share_it),
        cmocka_unit_test(signal_while_allocating_changes_nothing),
        cmocka_unit_test(small_dev_shm_is_a_warning_and_never_sigbus),
        cmocka_unit_test(dev_shm_without_limit_is_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
