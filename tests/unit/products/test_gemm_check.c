/* Kernels that cannot be trusted are found out without harm, and refused. */
#include "products/gemm_check.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "kernels/select.h"
#include "products/gemm.h"
#include "products/gemm_naive.h"
#include "products/ready.h"
#include "support/check.h"

enum { PATIENT_MS = 200 * 1000, HASTY_MS = 50 };

static void wrong(const struct hr_gemm *g)
{
    hr_gemm_naive(g);
    if (g->form == HR_GEMM_TN)
        g->c[g->M * g->N - 1] += 0.01f;
}

/* The bug that OpenBLAS had: a buffer that callers share. Each waits in the middle for the other,
 * so the two are certain to meet. */
static void racing(const struct hr_gemm *g)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static pthread_barrier_t middle;
    static int callers;
    static float shared;
    pthread_mutex_lock(&lock);
    if (callers++ == 0)
        pthread_barrier_init(&middle, NULL, 2);
    shared = callers % 2 ? 0 : 1;
    pthread_mutex_unlock(&lock);
    hr_gemm_naive(g);
    pthread_barrier_wait(&middle);
    g->c[0] += shared;
    pthread_barrier_wait(&middle);
}

static void crashing(const struct hr_gemm *g)
{
    hr_gemm_naive(g);
    if (g->form == HR_GEMM_NT)
        raise(SIGKILL);
}

static void hanging(const struct hr_gemm *g)
{
    (void)g;
    for (;;)
        pause();
}

static void stopped(const struct hr_gemm *g)
{
    (void)g;
    raise(SIGSTOP);
}

static void check_answer(hr_gemm_fn fn, int deadline_ms, enum hr_gemm_verdict wanted,
                         const char *said)
{
    char text[HR_GEMM_ANSWER_MAX];
    const struct hr_gemm_answer answer = hr_gemm_check(fn, deadline_ms);
    hr_gemm_answer_text(&answer, text);
    assert_int_equal(answer.verdict, wanted);
    assert_string_equal(text, said);
}

static void each_way_to_fail_is_told_apart(void **state)
{
    (void)state;
    check_answer(hr_gemm_naive, PATIENT_MS, HR_GEMM_GOOD, "right products");
    check_answer(wrong, PATIENT_MS, HR_GEMM_WRONG, "wrong products");
    check_answer(racing, PATIENT_MS, HR_GEMM_WRONG, "wrong products");
    check_answer(crashing, PATIENT_MS, HR_GEMM_ENDED,
                 "no answer: their process ended by signal 9 (Killed)");
    check_answer(hanging, HASTY_MS, HR_GEMM_HUNG, "no answer in 0.05 s");
    check_answer(stopped, HASTY_MS, HR_GEMM_HUNG, "no answer in 0.05 s");
}

static void a_check_that_cannot_be_made_finds_nothing(void **state)
{
    (void)state;
    struct rlimit files;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    const struct rlimit few = {3, files.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    check_answer(hr_gemm_naive, PATIENT_MS, HR_GEMM_STARVED,
                 "no process or thread to do it in: Too many open files");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
}

#ifndef HR_NO_BLAS

/* Outlives a fork: how many children have begun. */
static atomic_int *children;

static bool is_first_child(void)
{
    static pid_t counted;
    static bool first;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (counted != getpid())
        first = atomic_fetch_add(children, 1) == 0;
    counted = getpid();
    pthread_mutex_unlock(&lock);
    return first;
}

static void killed_once(const struct hr_gemm *g)
{
    if (is_first_child())
        raise(SIGKILL);
    hr_gemm_naive(g);
}

static void stopped_once(const struct hr_gemm *g)
{
    if (is_first_child())
        raise(SIGSTOP);
    hr_gemm_naive(g);
}

static void a_child_that_others_end_or_stop_is_followed_by_another(void **state)
{
    (void)state;
    static const hr_gemm_fn victims[] = {killed_once, stopped_once};
    children =
        mmap(NULL, sizeof *children, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(children != MAP_FAILED);
    CHECK_OK(hr_kernels_select(HR_KERNELS_OPENBLAS));
    for (size_t i = 0; i < 2; i++) {
        atomic_store(children, 0);
        hr_kernels_suspect(victims[i], i ? HASTY_MS : PATIENT_MS, PATIENT_MS);
        CHECK_OK(hr_kernels_check());
        assert_int_equal(atomic_load(children), 2);
        assert_memory_equal(hr_kernels_name(), "OpenBLAS", 8);
    }
    munmap(children, sizeof *children);
}

static void kernels_never_change(void **state)
{
    (void)state;
    CHECK_OK(hr_kernels_select(HR_KERNELS_OPENBLAS));
    hr_kernels_suspect(wrong, PATIENT_MS, PATIENT_MS);
    CHECK_FAILS(hr_kernels_check(), HR_E_KERNELS);
    CHECK_MESSAGE("OpenBLAS, tried with two threads that multiply at once, gave wrong products");
    CHECK_MESSAGE(" does without it");
    hr_kernels_suspect(crashing, PATIENT_MS, PATIENT_MS);
    CHECK_FAILS(hr_kernels_check(), HR_E_KERNELS);
    CHECK_MESSAGE("gave no answer: their process ended by signal 9");
    CHECK_MESSAGE("try again");
    assert_int_equal(hr_status_exit_code(HR_E_KERNELS), 3);
    assert_memory_equal(hr_kernels_name(), "OpenBLAS", 8);
    hr_kernels_suspect(NULL, PATIENT_MS, PATIENT_MS);
    CHECK_OK(hr_kernels_check());
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_way_to_fail_is_told_apart),
        cmocka_unit_test(a_check_that_cannot_be_made_finds_nothing),
#ifndef HR_NO_BLAS
        cmocka_unit_test(a_child_that_others_end_or_stop_is_followed_by_another),
        cmocka_unit_test(kernels_never_change),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
