/* blas.h - OpenBLAS, loaded when it is first needed.
 *
 * It is not linked: a linked OpenBLAS starts its threads before main, and where one of them finds
 * no memory it asks for ever, so that neither a fork nor an exit comes to an end (they join it).
 * Loaded from here it is told beforehand to start none. Commands that multiply nothing do without.
 *
 * Threads: any number may call at once; each has its own memory.
 * Test:    tests/unit/kernels/test_blas.c
 */
#ifndef HR_KERNELS_BLAS_H
#define HR_KERNELS_BLAS_H

#include "base/error.h"
#include "kernels/gemm.h"

/* Load it, once a process; further calls return what the first did. HR_E_IO when it is not there or
 * has no room. Only the last two calls below need that it was called. */
HR_CHECKED enum hr_status hr_blas_open(void);

/* Before `threads` threads of this process multiply at once, and before any of them does: no
 * threads of its own, and the room of all is taken. For each thread that is in a product OpenBLAS
 * takes 128 MiB of addresses (and touches few of them), and where there is no room it asks for
 * ever. HR_E_NOMEM says so. What was taken before the fork is there after it. */
HR_CHECKED enum hr_status hr_blas_prepare(size_t threads);

/* C = A B by sgemm, on this thread alone; dimensions of 1 at least, at most INT_MAX. What hr_gemm
 * adds to products (bias, relu) it does not. Aborts where hr_blas_open fails. */
void hr_blas_multiply(const struct hr_gemm *gemm);

/* "OpenBLAS 0.3.21 Zen"; static storage. */
const char *hr_blas_name(void);

/* How it was built, as it says itself, and how it starts threads ("pthreads"). */
const char *hr_blas_config(void);
const char *hr_blas_threading(void);

#endif
