/* block.h - the register tile of long products: like micro.h's, but of more rows where the machine
 * has registers for them, rows at regular steps, and sums that may go on from c.
 *
 *     c[i][j] (+)= sum over k = 0, 1, ..., K-1 of a[i][k] * b[k][j]
 *
 * Speed on arm64 is estimated, not measured: nobody here has had such a processor. Float32
 * operations a cycle of the innermost loop out of L1 by llvm-mca (LLVM 19, tests/peers/mca.py; GCC
 * 12), and what the model's units can do at most:
 *
 *     neoverse-n1      neon  15.3 of 16     plain   5.2
 *     apple-m1         neon  23.0 of 24     plain   9.1   (Cyclone's model, of three vector
 *                                                          units; an M1 has four, at most 32)
 *     skylake, znver3  v3    31.9 of 32     plain   8.7   (znver3)
 *
 * Order: micro.h's chain over k. A tile that goes on begins its chain with c instead of 0: a sum
 * that is cut into pieces of k has the bits of the whole, however it is cut.
 *
 * Threads: pure functions on the caller's memory.      Test: tests/unit/products/test_product.c
 */
#ifndef HR_TILES_BLOCK_H
#define HR_TILES_BLOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/isa.h"
#include "kernels/select.h"

/* While a tile multiplies it moves a row of the next panel for every HR_BLOCK_MOVED_K of its k. */
enum { HR_BLOCK_MOST_ROWS = 12, HR_BLOCK_MOVED_K = 4 };

/* What is read soon: a row as wide as a tile from each from + i * step on, i < count. */
struct hr_fetch {
    const float *from;
    size_t step, count;
};
enum { HR_BLOCK_FETCHES = 4 };

struct hr_block {
    size_t K;
    const float *a; /* a[i * a_row + k * a_step], tile_rows(rows) rows to be read */
    size_t a_row, a_step;
    const float *b; /* row k is b + k * b_step, readable to the tile's width */
    size_t b_step;
    size_t rows, columns;
    float *c;
    size_t c_row;
    bool go_on;
    const float *bias; /* (columns), or NULL */
    bool round, relu;  /* c + bias to bfloat16 (kernels/bf16.h); then max(0, .), NaN stays NaN */

    size_t moved; /* rows of `from` to be moved: at most K / HR_BLOCK_MOVED_K; 0 for narrow tiles */
    const float *from, *ahead; /* ahead: as many that are moved later, which are fetched */
    size_t from_step;          /* of both */
    float *to;                 /* (moved, width), without gaps */
    struct hr_fetch
        fetch[HR_BLOCK_FETCHES]; /* as many as K / HR_BLOCK_MOVED_K in all, by tiles that
                                                are not narrow */
};

struct hr_blocks {
    size_t width; /* of a panel, as hr_tiles's */
    size_t rows;  /* of the largest tile */

    /* Of how many rows the next tile is made where `left` are left to be done: more than
     * `left` only when that is odd, or 2. */
    size_t (*tile_rows)(size_t left);

    /* One tile; rows at most tile_rows(rows). */
    void (*tile)(const struct hr_block *block);

    /* One row by a b that is stored by columns, any number of them: c[j] = sum over k of
     * a[k] * b[j * b_step + k], with bias and relu. b is read once, at memory's speed. */
    void (*row)(const struct hr_block *block);

    /* A panel of b stored by columns, 1 to width of them: to[k * width + j] = b[j * stride + k].
     * Columns that are missing are copies of the last, or what was there before. */
    void (*turn)(size_t K, size_t columns, const float *b, size_t stride, float *to);
};

HR_ISA_DECLARE(struct hr_blocks, hr_blocks);

static inline const struct hr_blocks *hr_blocks(void)
{
    return hr_kernels_are_reference() ? &hr_blocks_plain : HR_ISA_PICK(hr_blocks);
}

#endif
