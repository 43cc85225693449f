/* micro_bf16.h - one register tile of a product of bfloat16 values, with the sums of
 * kernels/bf16.h.
 *
 *     c[i][j] = sum over pairs p = 0, 1, ..., K-1 of a[i][p] . b[p][j]       i < 12, j < 32
 *
 * from 0 on, or with `more` from the c that is there: then a long sum may be made in pieces, and
 * the bits are those of one chain. At the end, with `last`, bias is added (one float addition,
 * denormals are zeros), then the sum is rounded to bfloat16, then relu is taken, as asked.
 *
 * The bits of an element depend on its row and its column alone, and are the same in all copies
 * (kernels/bf16.h).
 *
 * Threads: pure functions on the caller's memory, in threads that flush denormals (base/fpenv.h).
 * Test: tests/unit/products/test_product_bf16.c
 */
#ifndef HR_TILES_MICRO_BF16_H
#define HR_TILES_MICRO_BF16_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"
#include "kernels/select.h"
#include "tiles/block.h"
#include "tiles/narrow.h"

enum { HR_BF16_ROWS = 12, HR_BF16_COLUMNS = 32 };

/* A tile of 12 whole rows fetches on its way, one for HR_BF16_FETCHED_PAIRS, as many as it comes
 * to. */
enum { HR_BF16_FETCHES = 3, HR_BF16_FETCHED_PAIRS = 4 };

struct hr_micro_bf16 {
    size_t K;          /* pairs */
    const uint32_t *b; /* (K, 32): a panel (kernels/bf16.h) */
    size_t columns;    /* of c: 1..32 */
    float *c;          /* row i is c + i * c_stride */
    size_t c_stride;
    bool more;         /* begin with c, not with 0 */
    bool round, relu;  /* what is stored; NaN stays NaN */
    const float *bias; /* (columns), or NULL */
    struct hr_fetch fetch[HR_BF16_FETCHES];
};

struct hr_tiles_bf16 {
    /* a (K, 12) is a panel, too, of which `rows` are wanted. */
    void (*tile)(const struct hr_micro_bf16 *micro, const uint32_t *a, size_t rows);

    /* Tiles one below the other: row i of c, i < nrows, is made of a[row[i] + offset[p]].
     *   line  how rows stand (narrow.h): evenly, so that more of them fit a tile */
    void (*tall)(const struct hr_micro_bf16 *micro, const uint32_t *a, const uint32_t *offset,
                 const uint32_t *row, struct hr_line line, size_t nrows);
};

HR_ISA_DECLARE_BF16(struct hr_tiles_bf16, hr_tiles_bf16);

/* The copy in use, plain where the kernels are the reference (kernels/select.h). */
static inline const struct hr_tiles_bf16 *hr_tiles_bf16(void)
{
    return hr_kernels_are_reference() ? &hr_tiles_bf16_plain : HR_ISA_PICK_BF16(hr_tiles_bf16);
}

#endif
