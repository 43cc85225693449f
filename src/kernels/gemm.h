/* gemm.h - row-major single-precision matrix products, and the one seam to BLAS.
 *
 * Who multiplies is decided by the shape alone:
 *   products of our own (product.h)   sums of up to HR_GEMM_OWN_K_NN, _NT and _TN terms
 *   OpenBLAS's sgemm, one thread      longer ones; and all of them where there are no fused
 *                                     multiply-adds to build on (base/isa.h: plain)
 * Measured on Zen 3 (AVX2) as OpenBLAS 0.3.21's time over ours (tests/peers/gemm_shapes.c): dense
 * layers of the built-in models at batch 32 to 256, 88 products, geometric mean 1.35: forward 1.0
 * to 1.46, dW 1.1 to 1.55 (of ten outputs 1.7 to 2.2), dx 1.0 to 1.37 (from ten outputs 2); where
 * both are OpenBLAS's, 0.93 to 1.03, which is as far as the figures can be trusted. Beyond the
 * limits: tn of 256 terms 0.90 to 0.99, of 1024 0.7; nn of 2048 0.91, of 8192 0.90; nt of 8192
 * 0.99 to 1.12. AVX-512 was not measured.
 *
 * The reference is the same code on the plain tile, whose bits are those of gemm_naive.h and the
 * same on every machine: builds without BLAS (make BLAS=naive), under ThreadSanitizer, and with
 * `--kernels reference`. The choice is made once, before ranks start.
 *
 * Threads: any number may call at once, each with its own memory. No BLAS call is ever made in a
 * process that will still fork ranks.
 */
#ifndef HR_KERNELS_GEMM_H
#define HR_KERNELS_GEMM_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/select.h"

/* How the operands are stored: the second letter of a pair says n as it is, t transposed. */
enum hr_gemm_form {
    HR_GEMM_NN, /* a (M,K), b (K,N) */
    HR_GEMM_NT, /* a (M,K), b (N,K) */
    HR_GEMM_TN, /* a (K,M), b (K,N) */
};

/* The longest sums of our own products. */
enum { HR_GEMM_OWN_K_NN = 1024, HR_GEMM_OWN_K_NT = 4096, HR_GEMM_OWN_K_TN = 192 };

/* C (M,N) = A (M,K) * B (K,N), then + bias, then max(0, .). */
struct hr_gemm {
    enum hr_gemm_form form;
    size_t M, N, K; /* at most INT_MAX (asserted); K = 0: the sums are zero; M or N = 0: nothing */
    const float *a, *b;
    float *c;                   /* (M,N), overwritten; aliasing: none */
    size_t a_row, b_row, c_row; /* floats from a row of what is stored to the next; 0: no gaps.
                                 * With gaps they are parts of larger matrices. */
    const float *bias;          /* (N), added to every row; NULL: none */
    bool relu;                  /* NaN stays NaN */
    void *scratch;  /* hr_gemm_scratch_bytes(K or more, threads or more), 64-byte aligned */
    size_t threads; /* that may share the work; at least 1. They change no bit. */
};

void hr_gemm(const struct hr_gemm *gemm);

/* The same steps, where 0 says no gaps. */
static inline size_t hr_gemm_a_row(const struct hr_gemm *g)
{
    return g->a_row ? g->a_row : g->form == HR_GEMM_TN ? g->M : g->K;
}

static inline size_t hr_gemm_b_row(const struct hr_gemm *g)
{
    return g->b_row ? g->b_row : g->form == HR_GEMM_NT ? g->K : g->N;
}

static inline size_t hr_gemm_c_row(const struct hr_gemm *g)
{
    return g->c_row ? g->c_row : g->N;
}

size_t hr_gemm_scratch_bytes(size_t K, size_t threads);

#endif
