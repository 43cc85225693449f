/* select.h - which kernels compute: the fast ones, the same without Winograd's algorithm for 3x3
 * convolutions (direct), the reference whose bits are the same on every machine, or direct ones
 * with OpenBLAS for matrix products. The choice is made once, before ranks start, and is made good
 * then (products/ready.h).
 *
 * The fast ones multiply with tiles of our own (products/product.h) where there are fused
 * multiply-adds to build on, and with OpenBLAS elsewhere (base/isa.h: plain).
 */
#ifndef HR_KERNELS_SELECT_H
#define HR_KERNELS_SELECT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum hr_kernels { HR_KERNELS_FAST, HR_KERNELS_DIRECT, HR_KERNELS_REFERENCE, HR_KERNELS_OPENBLAS };

/* Choose the kernels; HR_E_USAGE when others than REFERENCE, the default there, are asked of a
 * build without BLAS. Nothing is loaded or tried yet. */
HR_CHECKED enum hr_status hr_kernels_select(enum hr_kernels kernels);

/* The same by name, for options: "fast" is the best that this build has, so without BLAS it is the
 * reference, and so is "direct"; "reference"; "openblas", which has no products of bfloat16 values:
 * not where a network computes in them (bf16). HR_E_USAGE says what was found. */
HR_CHECKED enum hr_status hr_kernels_select_named(const char *name, bool bf16);

/* Are the plain C kernels selected, whose bits are the same on every machine? */
bool hr_kernels_are_reference(void);

/* Are matrix products OpenBLAS's? It is not loaded otherwise. */
bool hr_kernels_use_blas(void);

/* May 3x3 convolutions of floats be made by Winograd's algorithm (products/winograd.h)? Only where
 * there are fused multiply-adds. */
bool hr_kernels_use_winograd(void);

#endif
