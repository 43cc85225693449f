/* Fibres: what they keep while they wait, their failures, one within another, and those who are
 * dropped in the middle. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fibre.h"
#include "base/fpenv.h"
#include "support/check.h"

enum { MANY = 1024, DEEP = 40, FRAME = 1 << 10 };

struct deep {
    unsigned seed;
    unsigned char sum;
    double scaled;
};

/* Waits on the way down and on the way up, with all frames in use. */
static unsigned char go_down(unsigned seed, size_t depth)
{
    volatile unsigned char frame[FRAME];
    for (size_t i = 0; i < FRAME; i++)
        frame[i] = (unsigned char)(seed + depth * i);
    if (depth % 8 == 0)
        hr_fibre_wait();
    unsigned char sum = depth ? go_down(seed, depth - 1) : 0;
    if (depth % 8 == 0)
        hr_fibre_wait();
    for (size_t i = 0; i < FRAME; i++)
        sum = (unsigned char)(sum + frame[i]);
    return sum;
}

static unsigned char sum_of(unsigned seed)
{
    unsigned char sum = 0;
    for (size_t depth = 0; depth <= DEEP; depth++)
        for (size_t i = 0; i < FRAME; i++)
            sum = (unsigned char)(sum + (unsigned char)(seed + depth * i));
    return sum;
}

/* Registers that a call keeps hold numbers across the waits, too. */
static enum hr_status deep(void *arg)
{
    struct deep *it = arg;
    _Alignas(16) char local[16];
    char *volatile at = local; /* vector instructions rely on it; compilers, too */
    assert_int_equal((uintptr_t)at % 16, 0);
    double scaled = it->seed * 0.5;
    const unsigned a = it->seed * 3, b = it->seed ^ 77, c = it->seed + 9, d = it->seed * it->seed;
    it->sum = go_down(it->seed, DEEP);
    scaled += (a ^ b) + (c ^ d);
    it->scaled = scaled;
    return HR_OK;
}

static void many_go_down_in_turn(void **state)
{
    (void)state;
    static struct deep it[MANY];
    struct hr_fibres *fibres;
    size_t waits = 0, left = MANY;
    enum hr_status status;
    CHECK_OK(hr_fibres_open(MANY, 0, &fibres));
    for (size_t round = 0; round < 2; round++) { /* on the same stacks */
        left = MANY;
        for (size_t i = 0; i < MANY; i++) {
            it[i] = (struct deep){.seed = (unsigned)(i + round)};
            hr_fibre_start(fibres, i, deep, &it[i]);
        }
        for (size_t at = 0; left > 0; at = (at + 389) % MANY) { /* all, in an order of its own */
            if (!hr_fibre_lives(fibres, at))
                continue;
            if (hr_fibre_run(fibres, at, &status)) {
                waits++;
                continue;
            }
            CHECK_OK(status);
            left--;
        }
        for (size_t i = 0; i < MANY; i++) {
            const unsigned seed = (unsigned)(i + round);
            const unsigned a = seed * 3, b = seed ^ 77, c = seed + 9, d = seed * seed;
            assert_int_equal(it[i].sum, sum_of(seed));
            CHECK_NEAR(it[i].scaled, seed * 0.5 + ((a ^ b) + (c ^ d)), 0, 0);
        }
    }
    assert_int_equal(waits, 2 * MANY * 2 * (DEEP / 8 + 1));
    hr_fibres_close(fibres);
}

/* --- failures --- */

static enum hr_status fails(void *arg)
{
    const int *number = arg;
    const enum hr_status status = hr_fail(HR_E_IO, "disk %d is full", *number);
    hr_fibre_wait(); /* while it cleans up */
    return hr_fail_within(status, "rank %d", *number);
}

static void each_fails_with_its_own_message(void **state)
{
    (void)state;
    struct hr_fibres *fibres;
    int number[3] = {1, 2, 3};
    enum hr_status status;
    CHECK_OK(hr_fibres_open(3, 0, &fibres));
    CHECK_FAILS(hr_fail(HR_E_USAGE, "nobody's"), HR_E_USAGE);
    for (size_t i = 0; i < 3; i++)
        hr_fibre_start(fibres, i, fails, &number[i]);
    for (size_t i = 0; i < 3; i++)
        assert_true(hr_fibre_run(fibres, i, &status));
    assert_string_equal(hr_error_message(), "nobody's");
    assert_false(hr_fibre_run(fibres, 1, &status));
    CHECK_FAILS(status, HR_E_IO);
    assert_string_equal(hr_error_message(), "rank 2: disk 2 is full");
    assert_false(hr_fibre_run(fibres, 0, &status));
    assert_string_equal(hr_error_message(), "rank 1: disk 1 is full");
    assert_false(hr_fibre_lives(fibres, 0));
    hr_fibre_drop(fibres, 2); /* its failure is heard by nobody */
    assert_string_equal(hr_error_message(), "rank 1: disk 1 is full");
    hr_fibres_close(fibres);
}

/* --- one within another --- */

struct nest {
    struct hr_fibres *fibres;
    int order[8];
    size_t n;
};

static enum hr_status inner(void *arg)
{
    struct nest *nest = arg;
    nest->order[nest->n++] = 2;
    hr_fibre_wait();
    nest->order[nest->n++] = 4;
    return hr_fail(HR_E_DIVERGED, "inner");
}

static enum hr_status outer(void *arg)
{
    struct nest *nest = arg;
    enum hr_status status;
    nest->order[nest->n++] = 1;
    hr_fibre_start(nest->fibres, 1, inner, nest);
    assert_true(hr_fibre_run(nest->fibres, 1, &status));
    nest->order[nest->n++] = 3;
    hr_fibre_wait(); /* to the test, with the inner one waiting */
    assert_false(hr_fibre_run(nest->fibres, 1, &status));
    nest->order[nest->n++] = 5;
    return hr_fail_within(status, "outer");
}

static void one_may_run_another(void **state)
{
    (void)state;
    struct nest nest = {0};
    enum hr_status status;
    CHECK_OK(hr_fibres_open(2, 0, &nest.fibres));
    hr_fibre_start(nest.fibres, 0, outer, &nest);
    assert_true(hr_fibre_run(nest.fibres, 0, &status));
    assert_int_equal(nest.n, 3);
    assert_false(hr_fibre_run(nest.fibres, 0, &status));
    CHECK_FAILS(status, HR_E_DIVERGED);
    assert_string_equal(hr_error_message(), "outer: inner");
    for (int i = 0; i < 5; i++)
        assert_int_equal(nest.order[i], i + 1);
    hr_fibres_close(nest.fibres);
}

/* --- dropped --- */

static enum hr_status goes_on(void *arg)
{
    size_t *turns = arg;
    volatile unsigned char frame[FRAME];
    memset((void *)(uintptr_t)frame, 1, FRAME);
    for (;;) {
        *turns += frame[*turns % FRAME];
        hr_fibre_wait();
    }
    return HR_OK;
}

static void one_that_is_dropped_begins_anew(void **state)
{
    (void)state;
    struct hr_fibres *fibres;
    size_t turns = 0, others = 0;
    struct deep it = {.seed = 5};
    enum hr_status status;
    CHECK_OK(hr_fibres_open(2, 0, &fibres));
    hr_fibre_start(fibres, 0, goes_on, &turns);
    hr_fibre_start(fibres, 1, goes_on, &others);
    for (size_t i = 0; i < 3; i++)
        assert_true(hr_fibre_run(fibres, 0, &status) && hr_fibre_run(fibres, 1, &status));
    hr_fibre_drop(fibres, 0);
    assert_false(hr_fibre_lives(fibres, 0));
    hr_fibre_start(fibres, 0, deep, &it); /* on frames of the one before */
    while (hr_fibre_run(fibres, 0, &status))
        assert_true(hr_fibre_run(fibres, 1, &status));
    CHECK_OK(status);
    assert_int_equal(it.sum, sum_of(5));
    assert_int_equal(turns, 3);
    hr_fibre_start(fibres, 0, goes_on, &turns);
    assert_true(hr_fibre_run(fibres, 0, &status));
    hr_fibre_start(fibres, 0, goes_on, &turns); /* drops it */
    assert_true(hr_fibre_run(fibres, 0, &status));
    assert_int_equal(turns, 5);
    hr_fibres_close(fibres); /* in the middle of both */
}

/* --- the thread's mode; the guard --- */

static enum hr_status says_its_mode(void *arg)
{
    uint64_t *mode = arg;
    for (;;) {
        *mode = hr_fp_mode();
        hr_fibre_wait();
    }
    return HR_OK;
}

static void all_compute_in_the_threads_mode(void **state)
{
    (void)state;
    struct hr_fibres *fibres;
    enum hr_status status;
    uint64_t mode = 0;
    const uint64_t before = hr_fp_mode();
    hr_fp_flush_denormals();
    CHECK_OK(hr_fibres_open(1, 0, &fibres));
    hr_fibre_start(fibres, 0, says_its_mode, &mode);
    assert_true(hr_fibre_run(fibres, 0, &status));
    assert_int_equal(mode & ~(uint64_t)0x3f, hr_fp_mode() & ~(uint64_t)0x3f); /* less its flags */
    hr_fp_mode_set(before);
    hr_fibres_close(fibres);
}

static enum hr_status goes_too_deep(void *arg)
{
    const size_t *levels = arg;
    go_down(0, *levels);
    return HR_OK;
}

static void who_goes_too_deep_dies_at_once(void **state)
{
    (void)state;
    if (CHECK_SANITIZED)
        SKIP("under a sanitizer: they report it in their own way");
    const pid_t child = fork();
    if (child == 0) {
        struct hr_fibres *fibres;
        enum hr_status status;
        size_t levels = 400;
        signal(SIGSEGV, SIG_DFL);
        if (hr_fibres_open(2, 0, &fibres) != HR_OK)
            _exit(1);
        hr_fibre_start(fibres, 1, goes_too_deep, &levels);
        while (hr_fibre_run(fibres, 1, &status))
            ;
        _exit(0);
    }
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGSEGV);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_go_down_in_turn),
        cmocka_unit_test(each_fails_with_its_own_message),
        cmocka_unit_test(one_may_run_another),
        cmocka_unit_test(one_that_is_dropped_begins_anew),
        cmocka_unit_test(all_compute_in_the_threads_mode),
        cmocka_unit_test(who_goes_too_deep_dies_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
