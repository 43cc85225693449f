/* gemm.h - row-major single-precision matrix products, and the one seam to BLAS.
 *
 * Who multiplies follows from the choice alone (kernels/select.h): products of our own (product.h),
 * or OpenBLAS's sgemm on one thread, with `--kernels openblas` and where there are no fused
 * multiply-adds to build on (base/isa.h: plain).
 *
 * Measured on one of 2 processors of an Intel Xeon with AMX (48 KiB and 2 MiB of own caches),
 * a virtual machine, processor time beside others' work, OpenBLAS 0.3.21 as SkylakeX in the same
 * program, medians of 15 rounds in turns (tests/peers/gemm_shapes.c). Ours as a share of the
 * register tile out of L1 (209 GFLOP/s), and over OpenBLAS; nn, nt, tn:
 *     64^3             0.95 0.81 0.94    0.90 1.48 0.88
 *     256^3            0.96 0.96 0.93    1.21 1.18 1.09
 *     1024^3           0.90 0.84 0.90    1.07 1.00 1.05
 *     2048^3           0.84 0.79 0.83    0.95 0.91 0.96
 *     64x1024x4096     0.77 0.82 0.79    1.36 1.35 1.37
 *     256x2048x2048    0.91 0.86 0.93    1.11 1.02 1.11
 *     384x1536x1024    0.92 0.88 0.93    1.06 1.00 1.06
 *     1024x384x1536    0.88 0.84 0.90    1.03 1.03 1.14
 *     1024x1536x384    0.91 0.88 0.93    1.04 0.99 1.07
 * The same with HOGRING_ISA=v3 (AVX2; the tile: 132), OpenBLAS as Haswell; as Zen it is no faster:
 *     64^3             0.83 0.77 0.70    1.09 1.17 0.95
 *     256^3            0.90 0.94 0.91    1.06 1.09 1.05
 *     1024^3           0.87 0.88 0.86    1.02 1.04 0.97
 *     2048^3           0.85 0.83 0.81    1.01 1.00 0.96
 *     64x1024x4096     0.75 0.79 0.78    1.03 1.12 1.03
 *     256x2048x2048    0.86 0.86 0.85    1.01 1.06 0.99
 *     384x1536x1024    0.86 0.87 0.87    0.99 1.04 1.00
 *     1024x384x1536    0.84 0.85 0.84    1.02 1.03 1.00
 *     1024x1536x384    0.85 0.86 0.81    1.05 1.06 1.00
 * What the tile does not reach goes to lines of b and c that are far away, about as much to either.
 * Processors with AVX2 alone have not been measured since c is fetched.
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

#include "products/product.h"

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

/* The same as a product of our own. */
struct hr_product hr_gemm_product(const struct hr_gemm *gemm);

size_t hr_gemm_scratch_bytes(size_t K, size_t threads);

/* For who multiplies: all of c is there, and is one piece for its taker, if there is one. */
void hr_gemm_taken_whole(const struct hr_gemm *gemm);

/* In which order sums are added: what decides bits beside hr_kernels_name. */
const char *hr_gemm_order(void);

#endif
