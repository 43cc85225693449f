/* micro_amx.h - products of bfloat16 values in the order of AMX: four tiles at a time.
 *
 *     c[i][j] = sum over chunks of pairs of a[i][p] . b[p][j]        i < 16, j < 16 of a tile
 *
 * A chunk is 1 to 16 pairs, as many in all chunks of a product. TDPBF16PS takes one:
 *
 *     even = fma(a[2p], b[2p], even)          from 0 on, p = 0, 1, ... of the chunk
 *     odd = fma(a[2p+1], b[2p+1], odd)        likewise
 *     c = c + (even + odd)
 *
 * where each operation is rounded once, to the nearest even float; denormal floats are zeros, read
 * or written, as in kernels/bf16.h, whose pairs these are; it looks at no mode of the thread. So
 * bits differ from those of kernels/bf16.h's order. They depend on an element's row, its column and
 * the chunks alone, and are the same in all copies, but for the sign and payload of a NaN.
 *
 * Who multiplies says what the chunks are, as a rule of shape: products/product_amx.h,
 * products/patches_amx.h.
 *
 * Threads: pure functions on the caller's memory, in threads that flush denormals (base/fpenv.h).
 * Test: tests/unit/tiles/test_micro_amx.c
 */
#ifndef HR_TILES_MICRO_AMX_H
#define HR_TILES_MICRO_AMX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"
#include "kernels/select.h"

enum { HR_AMX_ROWS = 16, HR_AMX_COLUMNS = 16, HR_AMX_PAIRS = 16, HR_AMX_TILES = 4 };

/* Which four tiles of c are computed at once, of how many of a and b: tile i of a and tile j of b
 * make c[i * tiles of b + j]. */
enum hr_amx_form {
    HR_AMX_SQUARE, /* two of a, two of b */
    HR_AMX_TALL,   /* four of a, one of b */
    HR_AMX_WIDE,   /* one of a, four of b */
};

/* Tiles may be given twice, where there are fewer; c must be four. */
struct hr_amx {
    enum hr_amx_form form;
    size_t rows, pairs; /* of a tile of c and of a; of a chunk: 1..16 */
    size_t chunks;
    /* Chunk n's row i of a stands at a + a_at[n * pairs] + i * a_row, and its pair p of 16 columns
     * of b at b + b_at[n * pairs] + p * b_row; without tables at n * a_next, n * b_next. */
    const uint32_t *a[HR_AMX_TILES], *b[HR_AMX_TILES];
    const uint32_t *a_at, *b_at; /* (chunks * pairs), or NULL */
    size_t a_next, b_next, a_row, b_row;
    float *c[HR_AMX_TILES]; /* row i of 16 at c + i * c_row */
    size_t c_row;
    bool more; /* begin with c, not with 0 */
};

/* What becomes of a tile, or of several side by side. */
struct hr_amx_end {
    const float *bias; /* of a column; NULL: none */
    bool round, relu;  /* relu behind the rounding; NaN stays NaN */
};

struct hr_tiles_amx {
    /* Before blocks of this form, rows and pairs, and behind them: the thread's tiles are set up,
     * and given back. In between nothing else with tiles is done in the thread. */
    void (*begin)(const struct hr_amx *amx);
    void (*multiply)(const struct hr_amx *amx);
    void (*end)(void);

    /* c[i * c_row + j] = from[i * from_row + j] ended, i < rows, j < columns; from may be c */
    void (*store)(const struct hr_amx_end *end, size_t rows, size_t columns, const float *from,
                  size_t from_row, float *c, size_t c_row);
};

HR_ISA_DECLARE_AMX(struct hr_tiles_amx, hr_tiles_amx);

static inline const struct hr_tiles_amx *hr_tiles_amx(void)
{
    return HR_ISA_PICK_AMX(hr_tiles_amx);
}

#endif
