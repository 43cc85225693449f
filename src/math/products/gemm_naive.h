/* gemm_naive.h - the reference matrix products; contracts as in gemm.h.
 *
 * Each element is the sum over k in increasing order, every product and sum rounded to float, from
 * 0 on: the same bits on every machine.
 */
#ifndef HR_PRODUCTS_GEMM_NAIVE_H
#define HR_PRODUCTS_GEMM_NAIVE_H

#include <stddef.h>

#include "products/gemm.h"

void hr_gemm_naive_nn(size_t M, size_t N, size_t K, const float *a, const float *b, float *c);
void hr_gemm_naive_nt(size_t M, size_t N, size_t K, const float *a, const float *b, float *c);
void hr_gemm_naive_tn(size_t M, size_t N, size_t K, const float *a, const float *b, float *c);

/* The one that gemm->form asks for. */
void hr_gemm_naive(const struct hr_gemm *gemm);

#endif
