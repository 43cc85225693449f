/* ready.h - what the chosen kernels (kernels/select.h) need before they multiply, and their name.
 *
 * Tiles of our own need nothing. OpenBLAS is tried once, before ranks start, and then loaded in
 * every process that computes.
 *
 * Threads: any may call each.      Test: tests/unit/products/test_gemm_check.c
 */
#ifndef HR_PRODUCTS_READY_H
#define HR_PRODUCTS_READY_H

#include <stddef.h>

#include "base/error.h"

/* Before ranks start: can the chosen kernels be trusted? OpenBLAS, where it is used, is tried once
 * a process, in a child (gemm_check.h), and again when the first child gave no answer. HR_E_KERNELS
 * says what it gave, HR_E_IO and HR_E_NOMEM why it could not be tried (blas.h). Other kernels, with
 * other bits, are never taken instead. */
HR_CHECKED enum hr_status hr_kernels_check(void);

/* "tiles v3, winograd", "tiles v3" (direct), "OpenBLAS 0.3.21 SkylakeX, tiles v4" or "reference";
 * static storage. */
const char *hr_kernels_name(void);
const char *hr_kernels_name_direct(void); /* of models whose convolutions are all direct */

/* Call in every process that computes, after the last fork and before the first product. `threads`
 * of its threads will multiply at once; each may call this. HR_E_NOMEM where BLAS has no room for
 * them. */
HR_CHECKED enum hr_status hr_kernels_init_process(size_t threads);

#endif
