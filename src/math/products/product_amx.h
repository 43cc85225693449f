/* product_amx.h - matrix products of bfloat16 values in the order of AMX (tiles/micro_amx.h).
 *
 *     c[i][j] = sum over k of a[i][k] * b[k][j]  (+ bias)  (rounded)  (relu)
 *
 * Chunks are 16 pairs, from k = 0 on; the last has zeros behind it, in a and in b.
 *
 *     stretches of k, long ones
 *       blocks of rows of a, rounded and kept in the second cache level: (rows, pairs)
 *         groups of 256 columns, so that rows of a large b are read long enough
 *           pieces of the stretch: b packed as panels (pairs, 16), two of which stay in the first
 *             32 rows by 32 columns at a time, going on from the c of the piece before
 *
 * Where c is taken (taker.h) panels of b stay in the second level instead, and c comes in strips of
 * 32 rows.
 *
 * One task of a team is a part of the rows by a part of the columns. The bits of an element depend
 * on its row of a and its column of b alone: on no block, no thread, no mode of the thread.
 *
 * Threads: pure function on the caller's memory.    Test: tests/unit/products/test_product_bf16.c
 */
#ifndef HR_PRODUCTS_PRODUCT_AMX_H
#define HR_PRODUCTS_PRODUCT_AMX_H

#include "products/gemm.h"

/* Sums of so many values are taken in strips, if c is large (taker.h). */
enum { HR_PRODUCT_BF16_TAKEN = 448 };

/* As hr_gemm_bf16 (product_bf16.h); M, N and K are not 0; scratch of
 * hr_product_amx_scratch_bytes. */
void hr_gemm_amx(const struct hr_gemm *gemm, bool round);

/* For products of up to M rows and sums of up to K. Grows with each. */
size_t hr_product_amx_scratch_bytes(size_t M, size_t K, size_t threads);

#endif
