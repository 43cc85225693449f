/* gemm_check.h - can these matrix products be trusted when two threads call at once?
 *
 * OpenBLAS has given wrong products, deadlocked or crashed beside other threads, depending on how
 * it was built (OpenBLAS#1755, #2126, #2164, #937). So before ranks start, a forked child lets two
 * threads multiply matrices of the shapes that dense layers have, at once, and compares every
 * product with the reference; whatever happens to the child, this process goes on, and has
 * multiplied nothing.
 *
 * Test: tests/unit/products/test_gemm_check.c
 */
#ifndef HR_PRODUCTS_GEMM_CHECK_H
#define HR_PRODUCTS_GEMM_CHECK_H

#include "products/gemm.h"

/* A product of any form, for dimensions of 1 at least. */
typedef void (*hr_gemm_fn)(const struct hr_gemm *gemm);

enum hr_gemm_verdict {
    HR_GEMM_GOOD,
    HR_GEMM_WRONG, /* a product differs from the reference by more than rounding */
    /* No answer, perhaps because of what else happens on the machine: */
    HR_GEMM_ENDED,   /* the child ended without an answer */
    HR_GEMM_HUNG,    /* no answer within the deadline; the child was killed */
    HR_GEMM_STARVED, /* no process or thread to try in */
};

struct hr_gemm_answer {
    enum hr_gemm_verdict verdict;
    int cause; /* ENDED: by which signal, 0 for none; HUNG: the deadline in ms; STARVED: errno */
};

enum { HR_GEMM_ANSWER_MAX = 120 };

/* "wrong products", "no answer in 2 s", ... */
void hr_gemm_answer_text(const struct hr_gemm_answer *answer, char out[HR_GEMM_ANSWER_MAX]);

/* Try the products in a child: some 10 ms when all is well, at most deadline_ms. */
struct hr_gemm_answer hr_gemm_check(hr_gemm_fn fn, int deadline_ms);

/* Tests only: the next hr_kernels_check() forgets what it knows of OpenBLAS, and checks these
 * products in its place (NULL: OpenBLAS's own). Not in builds without BLAS. */
void hr_kernels_suspect(hr_gemm_fn instead, int first_ms, int again_ms);

#endif
