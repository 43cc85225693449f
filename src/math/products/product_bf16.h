/* product_bf16.h - matrix products of bfloat16 values, made of register tiles (tiles/micro_bf16.h).
 *
 *     c[i][j] = sum over k of a[i][k] * b[k][j]  (+ bias)  (rounded)  (relu)
 *
 * a and b are floats, and are rounded on their way into panels. Where sums go in the order of AMX
 * all is product_amx.h's; else the sum is that of kernels/bf16.h, over the pairs of k. Where these
 * are multiplied as floats (hr_bf16_as_floats) it is a product.h; else:
 *
 *     pieces of k, as many pairs as let a panel of b stay in the first cache level
 *       blocks of rows of a, packed to stay in the second
 *         panels of 32 columns of b, packed four at a time
 *           12 rows of the block: one register tile each, going on from the c of the piece before
 *
 * While tiles multiply they fetch the next b, and the next c. Where c is taken (taker.h)
 * panels of b stay in the second level instead, and c comes in strips of 12 rows.
 *
 * One task of a team is a part of the rows by a part of the columns.
 *
 * The bits of an element depend on its row of a and its column of b alone: on no block, no edge,
 * no thread, no instruction set, and not on the mode of the thread.
 *
 * Threads: pure function on the caller's memory.    Test: tests/unit/products/test_product_bf16.c
 */
#ifndef HR_PRODUCTS_PRODUCT_BF16_H
#define HR_PRODUCTS_PRODUCT_BF16_H

#include "products/gemm.h"

/* As hr_gemm (gemm.h), with such sums; scratch of hr_product_bf16_scratch_bytes.
 *   round  what is stored are bfloat16 values (rounded before relu) */
void hr_gemm_bf16(const struct hr_gemm *gemm, bool round);

/* For products of up to M rows and sums of up to K. Grows with each. */
size_t hr_product_bf16_scratch_bytes(size_t M, size_t K, size_t threads);

#endif
