/* gemm_check.h - can these matrix products be trusted when two threads call at once?
 *
 * OpenBLAS has given wrong products, deadlocked or crashed beside other threads, depending on how
 * it was built (OpenBLAS#1755, #2126, #2164, #937). So before ranks start, a forked child lets two
 * threads multiply matrices of the shapes that dense layers have, at once, and compares every
 * product with the reference; whatever happens to the child, this process goes on, and has made no
 * BLAS call.
 *
 * Test: tests/nn/test_gemm_check.c
 */
#ifndef HR_NN_GEMM_CHECK_H
#define HR_NN_GEMM_CHECK_H

#include "nn/gemm.h"

/* A product of any form, for dimensions of 1 at least. */
typedef void (*hr_gemm_fn)(const struct hr_gemm *gemm);

enum hr_gemm_verdict {
    HR_GEMM_GOOD,
    HR_GEMM_WRONG,   /* a product differs from the reference by more than rounding */
    HR_GEMM_CRASHED, /* the child ended without an answer */
    HR_GEMM_HUNG,    /* no answer within the deadline; the child was killed */
    HR_GEMM_UNKNOWN, /* no child could be started: nothing is known */
};

/* "wrong products" */
const char *hr_gemm_verdict_str(enum hr_gemm_verdict verdict);

/* Try the products in a child: some 10 ms when all is well, at most deadline_ms. */
enum hr_gemm_verdict hr_gemm_check(hr_gemm_fn fn, int deadline_ms);

/* Tests only: the next hr_kernels_select(HR_KERNELS_FAST) forgets what it knows of OpenBLAS, and
 * checks these products in its place (NULL: OpenBLAS's own). Not in builds without BLAS. */
void hr_kernels_suspect(hr_gemm_fn instead, int deadline_ms);

#endif
