/* product.h - a matrix product made of register tiles (tiles/micro.h).
 *
 *     c[i][j] = sum over k = 0, 1, ... of a[i][k] * b[k][j]  (+ bias)  (relu)
 *
 *     c stored by rows, more than a few: blocks that stay in the caches (product_blocks.h)
 *     one row of a, b stored by columns: sums in the lanes of vectors (tiles/block.h)
 *     a small b, few rows of a: b in place, rows of a six or four at a time, a tile each
 *     c stored by columns: b packed, rows of a in place, tiles turned round as they are stored
 *
 * One task of a team is a part of the rows by a part of the columns.
 *
 * Of bfloat16 values (kernels/bf16.h, where they are multiplied as floats): c stored by rows, in
 * blocks, in any mode of the thread; who takes c does so in the mode of the caller.
 *
 * Order: that of tiles/micro.h, so the bits of an element depend on its row of a and column of b
 * alone: on no block, no edge, no thread.
 *
 * Threads: pure function on the caller's memory.    Test: tests/unit/products/test_product.c
 */
#ifndef HR_PRODUCTS_PRODUCT_H
#define HR_PRODUCTS_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>

#include "products/taker.h"

struct hr_product {
    size_t rows, columns, K; /* at least 1 each */
    const float *a;
    size_t a_row, a_step; /* a[i][k] is a[i * a_row + k * a_step]; one of them is 1 */
    const float *b;
    size_t b_step, b_column;      /* b[k][j] is b[k * b_step + j * b_column]; one of them is 1 */
    float *c;                     /* overwritten; neither a nor b */
    size_t c_row, c_column;       /* c[i][j] is c[i * c_row + j * c_column]; one of them is 1 */
    const struct hr_taker *taker; /* as in gemm.h, where c_column is 1; or NULL */
    size_t taken_at;
    const float *bias; /* of a column when c_column is 1, else of a row; NULL: none */
    bool relu;         /* c = max(0, sum + bias); NaN stays NaN */
    bool bf16, round;  /* a and b are rounded; c, too, before relu */
    void *scratch;     /* hr_product_scratch_bytes, 64-byte aligned */
    size_t threads;    /* that may share the work (kernels/team.h) */
};

/* Grows with K and with threads. */
size_t hr_product_scratch_bytes(size_t K, size_t threads);

void hr_product(const struct hr_product *product);

#endif
