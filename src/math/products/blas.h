/* blas.h - OpenBLAS, loaded when it is first needed.
 *
 * It is not linked: a linked OpenBLAS starts its threads before main, and where one of them finds
 * no memory it asks for ever, so that neither a fork nor an exit comes to an end (they join it).
 * Loaded from here it is told beforehand to start none. It is loaded where it multiplies
 * (kernels/select.h), and nowhere else.
 *
 * It chooses its core, which decides its speed and bits, by the processor; OPENBLAS_CORETYPE in the
 * environment forces another: as Haswell it reaches half of what it does as SkylakeX or Cooperlake
 * on a processor with AVX-512. Its name says which core it is.
 *
 * Threads: any number may call at once; each has its own memory.
 * Test:    tests/unit/products/test_blas.c
 */
#ifndef HR_PRODUCTS_BLAS_H
#define HR_PRODUCTS_BLAS_H

#include "base/error.h"
#include "products/gemm.h"

/* Load OpenBLAS, once per process; further calls return what the first did. HR_E_IO when it is not
 * installed or there is no room. Only the last two functions need it to be called first. */
HR_CHECKED enum hr_status hr_blas_open(void);

/* Call before `threads` threads of this process multiply at once. OpenBLAS then starts no threads
 * of its own, and has taken the addresses that it needs: 128 MiB for each thread in a product, of
 * which it touches little; without room it would ask for ever. HR_E_NOMEM. A forked child inherits
 * them. */
HR_CHECKED enum hr_status hr_blas_prepare(size_t threads);

/* C = A B by sgemm, on this thread alone, without bias and relu; dimensions from 1 to INT_MAX.
 * Aborts where hr_blas_open fails. */
void hr_blas_multiply(const struct hr_gemm *gemm);

/* "OpenBLAS 0.3.21 SkylakeX", with the core it computes as; static storage. */
const char *hr_blas_name(void);

/* OpenBLAS's own words on how it was built, and how it starts threads ("pthreads"). */
const char *hr_blas_config(void);
const char *hr_blas_threading(void);

#endif
