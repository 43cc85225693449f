/* Kernels that cannot be trusted are found out without harm, and replaced. */
#include "nn/gemm_check.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nn/gemm.h"
#include "nn/gemm_naive.h"
#include "support/check.h"

enum { PATIENT_MS = 20000, HASTY_MS = 50 };

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

static void each_way_to_fail_is_told_apart(void **state)
{
    (void)state;
    assert_int_equal(hr_gemm_check(hr_gemm_naive, PATIENT_MS), HR_GEMM_GOOD);
    assert_int_equal(hr_gemm_check(wrong, PATIENT_MS), HR_GEMM_WRONG);
    assert_int_equal(hr_gemm_check(racing, PATIENT_MS), HR_GEMM_WRONG);
    assert_int_equal(hr_gemm_check(crashing, PATIENT_MS), HR_GEMM_CRASHED);
    assert_int_equal(hr_gemm_check(hanging, HASTY_MS), HR_GEMM_HUNG);
}

#ifndef HR_NO_BLAS

/* What selecting the fast kernels says on stderr when these are in OpenBLAS's place. */
static void select_suspect(hr_gemm_fn suspect, char *said, size_t size)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    const int terminal = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    hr_kernels_suspect(suspect, PATIENT_MS);
    const enum hr_status first = hr_kernels_select(HR_KERNELS_FAST);
    const enum hr_status again = hr_kernels_select(HR_KERNELS_FAST); /* neither tries nor warns */
    dup2(terminal, STDERR_FILENO);
    close(terminal);
    rewind(file);
    said[fread(said, 1, size - 1, file)] = '\0';
    fclose(file);
    CHECK_OK(first);
    CHECK_OK(again);
}

static void a_blas_that_fails_is_replaced_and_named_once(void **state)
{
    (void)state;
    char said[2048];
    select_suspect(wrong, said, sizeof said);
    assert_non_null(strstr(said, "hogring: warning: two threads that multiply at once got wrong "
                                 "products from \"OpenBLAS"));
    assert_int_equal(strchr(said, '\n') - said, (long)strlen(said) - 1);
    assert_string_equal(hr_kernels_name(), "reference");
    select_suspect(NULL, said, sizeof said);
    assert_string_equal(said, "");
    assert_non_null(strstr(hr_kernels_name(), "OpenBLAS"));
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_way_to_fail_is_told_apart),
#ifndef HR_NO_BLAS
        cmocka_unit_test(a_blas_that_fails_is_replaced_and_named_once),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
