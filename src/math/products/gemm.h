/* gemm.h - row-major single-precision matrix products, and the one seam to BLAS.
 *
 * Who multiplies follows from the choice alone (kernels/select.h): products of our own (product.h),
 * or OpenBLAS's sgemm on one thread, with `--kernels openblas` and where there are no fused
 * multiply-adds to build on (base/isa.h: plain).
 *
 * Measured on one of 2 processors of an AMD EPYC with AVX-512 (Zen 5), a virtual machine, beside
 * others' work, against OpenBLAS 0.3.21 as Cooperlake, interleaved, medians of 15 rounds
 * (tests/peers/gemm_shapes.c). Ours as a share of the register tile out of L1, and over OpenBLAS;
 * nn, nt, tn:
 *     64^3             0.94 0.84 0.93    0.95 1.30 0.95
 *     256^3            0.94 0.88 0.85    1.11 1.09 1.03
 *     1024^3           0.89 0.86 0.88    1.02 0.99 0.97
 *     2048^3           0.85 0.79 0.83    0.96 0.91 0.93
 *     4096^3           0.85 0.83 0.86    0.92 0.90 0.91
 *     64x1024x4096     0.85 0.77 0.85    1.34 1.29 1.31
 *     256x2048x2048    0.86 0.85 0.89    1.04 1.05 1.04
 * The same of a Zen 3 (AVX2, 512 KiB of second level), OpenBLAS as Zen, medians of 3 x 9 rounds:
 *     64^3             0.83 0.83 0.77    1.28 1.34 1.10
 *     256^3            0.93 0.93 0.91    1.09 1.09 1.09
 *     1024^3           0.74 0.82 0.71    0.94 1.02 0.93
 *     2048^3           0.83 0.88 0.72    0.86 0.99 0.81
 *     64x1024x4096     0.53 0.67 0.52    0.76 1.24 0.81
 *     256x2048x2048    0.83 0.88 0.83    0.96 1.12 0.94
 * Rows of b that are a power of two apart share sets of the caches, which nn and tn pay for there.
 * Layers of ten outputs fill ten lanes of 16: 0.60 to 0.88 of OpenBLAS, whose small kernels add
 * such sums in another order.
 *
 * The reference is the same code on the plain tile, whose bits are those of gemm_naive.h and the
 * same on every machine: builds without BLAS (make BLAS=naive), under ThreadSanitizer, and with
 * `--kernels reference`. The choice is made once, before ranks start.
 *
 * Threads: any number may call at once, each with its own memory. No BLAS call is ever made in a
 * process that will still fork ranks.
 */
#ifndef HR_PRODUCTS_GEMM_H
#define HR_PRODUCTS_GEMM_H

#include <stdbool.h>
#include <stddef.h>

#include "products/taker.h"

/* How the operands are stored: the second letter of a pair says n as it is, t transposed. */
enum hr_gemm_form {
    HR_GEMM_NN, /* a (M,K), b (K,N) */
    HR_GEMM_NT, /* a (M,K), b (N,K) */
    HR_GEMM_TN, /* a (K,M), b (K,N) */
};

/* C (M,N) = A (M,K) * B (K,N), then + bias, then max(0, .). */
struct hr_gemm {
    enum hr_gemm_form form;
    size_t M, N, K; /* at most INT_MAX (asserted); K = 0: the sums are zero; M or N = 0: nothing */
    const float *a, *b;
    float *c;                     /* (M,N), overwritten; aliasing: none */
    const struct hr_taker *taker; /* of c, which is memory then, gaps and all; NULL: nobody */
    size_t taken_at;              /* index of c[0][0] for it; rows follow one another c_row apart */
    size_t a_row, b_row, c_row;   /* floats from a row of what is stored to the next; 0: no gaps.
                                 * With gaps they are parts of larger matrices. */
    const float *bias;            /* (N), added to every row; NULL: none */
    bool relu;                    /* NaN stays NaN */
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

/* For who multiplies: all of c is there, and is one piece for its taker, if there is one. */
void hr_gemm_taken_whole(const struct hr_gemm *gemm);

/* In which order sums are added: what decides bits beside hr_kernels_name. */
const char *hr_gemm_order(void);

#endif
