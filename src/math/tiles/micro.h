/* micro.h - one register tile of a matrix product: what the fast products and convolutions are
 * made of.
 *
 *     c[i][j] = sum over k = 0, 1, ..., K-1 of a[i][k] * b[k][j]       i < 6, j < columns
 *
 * The rows of `a` are six pointers and one table of offsets (or one step), so that they may be the
 * rows of a matrix, its columns, or the patches of an image under a filter; `b` is a panel whose
 * rows are as long as the tile is wide.
 *
 * Order: each element is one chain of fused multiply-adds over k from 0 on (x86-64-v3 and above,
 * neon), or of products and sums rounded one by one (plain), then bias or the old c is added. So
 * the bits of an element depend on its row and its column alone, not on the tile that it falls
 * into, nor on how a product is shared among threads. Plain, which is the reference everywhere,
 * gives the bits of products/gemm_naive.h; all others have those of one another.
 *
 * Threads: pure functions on the caller's memory.      Test: tests/unit/tiles/test_micro.c
 */
#ifndef HR_TILES_MICRO_H
#define HR_TILES_MICRO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"
#include "kernels/select.h"

enum { HR_MICRO_ROWS = 6, HR_MICRO_FEW_ROWS = 4, HR_MICRO_MAX_COLUMNS = 32 };

struct hr_micro {
    size_t K;
    const float *a[HR_MICRO_ROWS]; /* row i's k-th value stands at a[i][offset[k]], ... */
    const uint32_t *offset;        /* (K) ... or, when this is NULL, */
    size_t a_step;                 /* at a[i][k * a_step]; rows past `rows` must be readable too */
    const float *b;                /* row k is b + k * b_stride, readable to the tile's width */
    size_t b_stride;
    size_t rows, columns; /* of c: 1..6 and 1..columns of the tiles */
    float *c;             /* row i is c + i * c_stride; overwritten, or with `add` added to */
    size_t c_stride;
    const float *bias; /* (columns), or NULL; not with `add` */
    bool round, relu;  /* c + bias to bfloat16 (kernels/bf16.h); then max(0, .), NaN stays NaN */
    bool add, go_on;   /* go_on: the chain begins with c instead of 0; not with add */
};

struct hr_tiles {
    size_t columns; /* the width of a tile: 8, 16 or 32 */

    void (*tile)(const struct hr_micro *micro);

    /* Tiles side by side, for any number of columns: the p-th has its panel at b + p * b_next, and
     * its columns of c and bias are those from p * columns on. */
    void (*strip)(const struct hr_micro *micro, size_t b_next);

    /* Tiles one below the other, as if by tile: row i of c, i < nrows, is made of
     * a[row[i] + offset[k]]. micro->offset is needed; micro->a and micro->rows are not looked
     * at. */
    void (*tall)(const struct hr_micro *micro, const float *a, const uint32_t *row, size_t nrows);
};

HR_ISA_DECLARE(struct hr_tiles, hr_tiles);

/* The copy in use, plain where the kernels are the reference; constant once they are selected
 * (kernels/select.h). */
static inline const struct hr_tiles *hr_tiles(void)
{
    return hr_kernels_are_reference() ? &hr_tiles_plain : HR_ISA_PICK(hr_tiles);
}

#endif
