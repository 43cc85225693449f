#include "kernels/gemm.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#ifndef HR_NO_BLAS
#include <pthread.h>
#endif

#include "base/isa.h"
#include "base/size.h"
#include "kernels/blas.h"
#include "kernels/gemm_check.h"
#include "kernels/gemm_naive.h"
#include "kernels/elementwise.h"
#include "kernels/product.h"

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

enum hr_status hr_kernels_check(void)
{
    return HR_OK;
}

enum hr_status hr_kernels_init_process(size_t threads)
{
    (void)threads;
    return HR_OK;
}

static void multiply_long(const struct hr_gemm *g)
{
    hr_gemm_naive(g);
}

#else

static enum hr_kernels selected = HR_KERNELS_FAST;

static void multiply_long(const struct hr_gemm *g)
{
    if (selected == HR_KERNELS_FAST)
        hr_blas_multiply(g);
    else
        hr_gemm_naive(g);
}

enum hr_status hr_kernels_select(enum hr_kernels kernels)
{
    selected = kernels;
    return HR_OK;
}

/* --- can OpenBLAS be trusted? --- */

enum { FIRST_MS = 2000, AGAIN_MS = 10000 };

static struct {
    bool good;
    hr_gemm_fn instead; /* tests: check these */
    int deadline_ms[2];
} trust = {.deadline_ms = {FIRST_MS, AGAIN_MS}};

void hr_kernels_suspect(hr_gemm_fn instead, int first_ms, int again_ms)
{
    trust.good = false;
    trust.instead = instead;
    trust.deadline_ms[0] = first_ms;
    trust.deadline_ms[1] = again_ms;
}

/* Other kernels would train as well, but to other bits: that is for the user to choose. */
static enum hr_status refuse(const struct hr_gemm_answer *answer)
{
    char text[HR_GEMM_ANSWER_MAX];
    hr_gemm_answer_text(answer, text);
    return hr_fail(HR_E_KERNELS,
                   "OpenBLAS, tried with two threads that multiply at once, gave %s (\"%.120s\", "
                   "%s); %s--kernels reference does without it, and is slow",
                   text, hr_blas_config(), hr_blas_threading(),
                   answer->verdict == HR_GEMM_WRONG ? ""
                                                    : "the machine may be too busy or full: "
                                                      "try again; ");
}

enum hr_status hr_kernels_check(void)
{
    enum { CALLERS = 2 };
    struct hr_gemm_answer answer = {HR_GEMM_STARVED, 0};
    if (selected != HR_KERNELS_FAST || trust.good)
        return HR_OK;
    HR_TRY(hr_blas_prepare(CALLERS)); /* which the child inherits */
    for (int i = 0; i < 2 && answer.verdict != HR_GEMM_GOOD && answer.verdict != HR_GEMM_WRONG; i++)
        answer =
            hr_gemm_check(trust.instead ? trust.instead : hr_blas_multiply, trust.deadline_ms[i]);
    trust.good = answer.verdict == HR_GEMM_GOOD;
    return trust.good ? HR_OK : refuse(&answer);
}

enum hr_status hr_kernels_init_process(size_t threads)
{
    return selected == HR_KERNELS_FAST ? hr_blas_prepare(threads) : HR_OK;
}

bool hr_kernels_are_reference(void)
{
    return selected == HR_KERNELS_REFERENCE;
}

static char fast_name[112];

static void write_fast_name(void)
{
    snprintf(fast_name, sizeof fast_name, "%s, tiles %s", hr_blas_name(), hr_isa_name());
}

const char *hr_kernels_name(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (selected != HR_KERNELS_FAST)
        return "reference";
    pthread_once(&once, write_fast_name);
    return fast_name;
}

#endif

enum hr_status hr_kernels_select_named(const char *name)
{
#ifdef HR_NO_BLAS
    const enum hr_kernels fast_here = HR_KERNELS_REFERENCE;
#else
    const enum hr_kernels fast_here = HR_KERNELS_FAST;
#endif
    if (!strcmp(name, "fast"))
        return hr_kernels_select(fast_here);
    if (!strcmp(name, "reference"))
        return hr_kernels_select(HR_KERNELS_REFERENCE);
    return hr_fail(HR_E_USAGE, "--kernels %s: expected fast or reference", name);
}

/* --- our own --- */

static struct hr_product product_of(const struct hr_gemm *g)
{
    const bool a_turned = g->form == HR_GEMM_TN, b_turned = g->form == HR_GEMM_NT;
    return (struct hr_product){
        .rows = g->M,
        .columns = g->N,
        .K = g->K,
        .a = g->a,
        .a_row = a_turned ? 1 : g->K,
        .a_step = a_turned ? g->M : 1,
        .b = g->b,
        .b_step = b_turned ? 1 : g->N,
        .b_column = b_turned ? g->K : 1,
        .c = g->c,
        .c_row = g->N,
        .c_column = 1,
        .bias = g->bias,
        .relu = g->relu,
        .scratch = g->scratch,
        .threads = g->threads,
    };
}

/* C^T = B A^T, so that a is packed and b is read in place. */
static struct hr_product turned(const struct hr_product *p)
{
    struct hr_product other = *p;
    other.rows = p->columns;
    other.columns = p->rows;
    other.a = p->b;
    other.a_row = p->b_column;
    other.a_step = p->b_step;
    other.b = p->a;
    other.b_step = p->a_step;
    other.b_column = p->a_row;
    other.c_row = p->c_column;
    other.c_column = p->c_row;
    return other;
}

/* Packing b takes about a cycle for three floats, storing c by columns one for each; with few
 * samples and a large weight matrix it is better to pack the samples. */
static bool better_turned(const struct hr_gemm *g)
{
    return g->form == HR_GEMM_NT && g->N > g->M && (g->N - g->M) * g->K > 4 * g->M * g->N;
}

static void multiply_own(const struct hr_gemm *g)
{
    const struct hr_product product = product_of(g), other = turned(&product);
    hr_product(better_turned(g) ? &other : &product);
}

/* --- which --- */

static const size_t own_K[] = {
    [HR_GEMM_NN] = HR_GEMM_OWN_K_NN,
    [HR_GEMM_NT] = HR_GEMM_OWN_K_NT,
    [HR_GEMM_TN] = HR_GEMM_OWN_K_TN,
};

static bool is_own(const struct hr_gemm *g)
{
    return g->K <= own_K[g->form] && (hr_isa() != HR_ISA_PLAIN || hr_kernels_are_reference());
}

size_t hr_gemm_scratch_bytes(size_t K, size_t threads)
{
    return hr_product_scratch_bytes(hr_min_size(K, HR_GEMM_OWN_K_NT), threads);
}

static void add_bias(const struct hr_gemm *g)
{
    if (g->bias && g->relu)
        hr_bias_relu(g->M, g->N, g->bias, g->c);
    else if (g->bias)
        hr_bias_add(g->M, g->N, g->bias, g->c);
    else if (g->relu)
        hr_relu(g->M * g->N, g->c, g->c);
}

void hr_gemm(const struct hr_gemm *g)
{
    HR_ASSERT(g->M <= INT_MAX && g->N <= INT_MAX && g->K <= INT_MAX && g->threads >= 1);
    if (g->M == 0 || g->N == 0)
        return;
    if (g->K > 0 && is_own(g)) {
        multiply_own(g);
        return;
    }
    if (g->K > 0)
        multiply_long(g);
    else
        memset(g->c, 0, g->M * g->N * sizeof *g->c);
    add_bias(g);
}
