/* select.h - which kernels compute: the fast ones, the reference whose bits are the same on every
 * machine, or the fast ones with OpenBLAS for matrix products. The choice is made once, before
 * ranks start.
 *
 * The fast ones multiply with tiles of our own (product.h) where there are fused multiply-adds to
 * build on, and with OpenBLAS elsewhere (base/isa.h: plain).
 */
#ifndef HR_KERNELS_SELECT_H
#define HR_KERNELS_SELECT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum hr_kernels { HR_KERNELS_FAST, HR_KERNELS_REFERENCE, HR_KERNELS_OPENBLAS };

/* Choose the kernels; HR_E_USAGE when others than REFERENCE, the default there, are asked of a
 * build without BLAS. Nothing is loaded or tried yet. */
HR_CHECKED enum hr_status hr_kernels_select(enum hr_kernels kernels);

/* Before ranks start: can the chosen kernels be trusted? OpenBLAS, where it is used, is tried once
 * a process, in a child (gemm_check.h), and again when the first child gave no answer. HR_E_KERNELS
 * says what it gave, HR_E_IO and HR_E_NOMEM why it could not be tried (blas.h). Other kernels, with
 * other bits, are never taken instead. */
HR_CHECKED enum hr_status hr_kernels_check(void);

/* The same by name, for options: "fast" is the best that this build has, so without BLAS it is the
 * reference; "reference"; "openblas", which has no products of bfloat16 values: not where a network
 * computes in them (bf16). HR_E_USAGE says what was found. */
HR_CHECKED enum hr_status hr_kernels_select_named(const char *name, bool bf16);

/* Are the plain C kernels selected, whose bits are the same on every machine? */
bool hr_kernels_are_reference(void);

/* Are matrix products OpenBLAS's? It is not loaded otherwise. */
bool hr_kernels_use_blas(void);

/* "tiles v3", "OpenBLAS 0.3.21 SkylakeX, tiles v4" or "reference"; static storage. */
const char *hr_kernels_name(void);

/* Call in every process that computes, after the last fork and before the first product. `threads`
 * of its threads will multiply at once; each may call this. HR_E_NOMEM where BLAS has no room for
 * them. */
HR_CHECKED enum hr_status hr_kernels_init_process(size_t threads);

#endif
