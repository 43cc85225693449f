/* gemm.h - the one seam to BLAS: row-major single-precision matrix products.
 *
 * The fast kernel is OpenBLAS's sgemm, one thread a caller; the reference is plain C
 * (gemm_naive.c), used by builds without BLAS (make BLAS=naive), under ThreadSanitizer, and with
 * `--kernels reference`. The choice is made once, before ranks start.
 *
 * Threads: any number may call at once, each with its own memory. No BLAS call is ever made in a
 * process that will still fork ranks.
 */
#ifndef HR_NN_GEMM_H
#define HR_NN_GEMM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum hr_kernels { HR_KERNELS_FAST, HR_KERNELS_REFERENCE };

/* Choose the kernels; HR_E_USAGE when FAST is asked of a build without BLAS (default there:
 * REFERENCE). FAST is first tried in a child process (gemm_check.h), once a process; when it fails
 * there, one line of warning says so and REFERENCE is taken. It also sets BLAS to one thread, which
 * multiplies nothing and is inherited by forked ranks; asked for in the launcher, it spares each of
 * them the start of BLAS's own helper threads. */
HR_CHECKED enum hr_status hr_kernels_select(enum hr_kernels kernels);

/* Are the plain C kernels selected, whose bits are the same on every machine? */
bool hr_kernels_are_reference(void);

/* "OpenBLAS 0.3.21 Zen" or "reference"; static storage. */
const char *hr_kernels_name(void);

/* Once in every process that will compute, after the last fork and before the first product: one
 * BLAS thread. */
void hr_kernels_init_process(void);

/* C (M,N) = A (M,K) * B (K,N), each possibly stored transposed:
 *   nn: a (M,K), b (K,N)    nt: a (M,K), b (N,K)    tn: a (K,M), b (K,N)
 * c is overwritten; aliasing: none. K = 0 gives zeros; M or N = 0 does nothing. Each dimension is
 * at most INT_MAX (asserted). */
void hr_gemm_nn(size_t M, size_t N, size_t K, const float *a, const float *b, float *c);
void hr_gemm_nt(size_t M, size_t N, size_t K, const float *a, const float *b, float *c);
void hr_gemm_tn(size_t M, size_t N, size_t K, const float *a, const float *b, float *c);

#endif
