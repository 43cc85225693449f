#include "nn/gemm.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#ifndef HR_NO_BLAS
#include <cblas.h>
#include <pthread.h>
#endif

#include "base/log.h"
#include "nn/gemm_check.h"
#include "nn/gemm_naive.h"

static const struct hr_gemm_kernels reference = {hr_gemm_naive_nn, hr_gemm_naive_nt,
                                                 hr_gemm_naive_tn};

#ifdef HR_NO_BLAS

enum hr_status hr_kernels_select(enum hr_kernels kernels)
{
    if (kernels == HR_KERNELS_FAST)
        return hr_fail(HR_E_USAGE, "kernels \"fast\": this build has no BLAS, only \"reference\"");
    return HR_OK;
}

const char *hr_kernels_name(void)
{
    return "reference";
}

bool hr_kernels_are_reference(void)
{
    return true;
}

void hr_kernels_init_process(void)
{
}

static const struct hr_gemm_kernels *const selected = &reference;

#else

static void blas_nn(size_t M, size_t N, size_t K, const float *a, const float *b, float *c)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (blasint)M, (blasint)N, (blasint)K, 1.0f,
                a, (blasint)K, b, (blasint)N, 0.0f, c, (blasint)N);
}

static void blas_nt(size_t M, size_t N, size_t K, const float *a, const float *b, float *c)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint)M, (blasint)N, (blasint)K, 1.0f,
                a, (blasint)K, b, (blasint)K, 0.0f, c, (blasint)N);
}

static void blas_tn(size_t M, size_t N, size_t K, const float *a, const float *b, float *c)
{
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (blasint)M, (blasint)N, (blasint)K, 1.0f,
                a, (blasint)M, b, (blasint)N, 0.0f, c, (blasint)N);
}

static const struct hr_gemm_kernels fast = {blas_nn, blas_nt, blas_tn};
static const struct hr_gemm_kernels *selected = &fast;

/* Only when it is needed: in a forked child the call would start OpenBLAS's helper threads, which
 * a fork takes away, before it puts them aside. A setting made before the fork is inherited. */
static void use_one_thread(void)
{
    if (openblas_get_num_threads() != 1)
        openblas_set_num_threads(1);
}

/* What is known of BLAS in this process: checked once, before ranks start. */
static struct {
    bool known, good;
    const struct hr_gemm_kernels *instead; /* tests: check these */
    int deadline_ms;
} trust = {.deadline_ms = 2000};

void hr_kernels_suspect(const struct hr_gemm_kernels *instead, int deadline_ms)
{
    trust.known = false;
    trust.instead = instead;
    trust.deadline_ms = deadline_ms;
}

static bool blas_is_trusted(void)
{
    static const char *const threading[] = {"sequential", "pthreads", "OpenMP"};
    if (trust.known)
        return trust.good;
    const enum hr_gemm_verdict verdict =
        hr_gemm_check(trust.instead ? trust.instead : &fast, trust.deadline_ms);
    trust.known = true;
    trust.good = verdict == HR_GEMM_GOOD || verdict == HR_GEMM_UNKNOWN;
    if (!trust.good)
        hr_log(HR_LOG_WARNING,
               "two threads that multiply at once got %s from \"%s\" (%s): going on with the "
               "reference kernels, which are slow",
               hr_gemm_verdict_str(verdict), openblas_get_config(),
               threading[openblas_get_parallel() % 3]);
    return trust.good;
}

enum hr_status hr_kernels_select(enum hr_kernels kernels)
{
    use_one_thread(); /* before the check, whose child inherits it */
    selected = kernels == HR_KERNELS_FAST && blas_is_trusted() ? &fast : &reference;
    return HR_OK;
}

void hr_kernels_init_process(void)
{
    if (selected == &fast)
        use_one_thread();
}

bool hr_kernels_are_reference(void)
{
    return selected == &reference;
}

/* The configuration reads "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ...": two words of it. */
static char blas_name[96];

static void write_blas_name(void)
{
    char library[32] = "OpenBLAS", version[32] = "";
    sscanf(openblas_get_config(), "%31s %31s", library, version);
    snprintf(blas_name, sizeof blas_name, "%s %s %.24s", library, version, openblas_get_corename());
}

const char *hr_kernels_name(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (selected != &fast)
        return "reference";
    pthread_once(&once, write_blas_name);
    return blas_name;
}

#endif

/* False when there is nothing left to multiply: BLAS wants leading dimensions of 1 at least, so the
 * empty products never reach it. */
static bool has_work(size_t M, size_t N, size_t K, float *c)
{
    HR_ASSERT(M <= INT_MAX && N <= INT_MAX && K <= INT_MAX);
    if (K == 0 && M && N)
        memset(c, 0, M * N * sizeof *c);
    return M && N && K;
}

void hr_gemm_nn(size_t M, size_t N, size_t K, const float *a, const float *b, float *c)
{
    if (has_work(M, N, K, c))
        selected->nn(M, N, K, a, b, c);
}

void hr_gemm_nt(size_t M, size_t N, size_t K, const float *a, const float *b, float *c)
{
    if (has_work(M, N, K, c))
        selected->nt(M, N, K, a, b, c);
}

void hr_gemm_tn(size_t M, size_t N, size_t K, const float *a, const float *b, float *c)
{
    if (has_work(M, N, K, c))
        selected->tn(M, N, K, a, b, c);
}
