/* lanes.h - register tiles for products with very few columns: rows in the lanes of vectors.
 *
 * The product is narrow.h's; where there are up to eight columns, a vector of columns is half
 * empty or worse. Rows that stand side by side in `a` (pixels of a plane's line, or taps of a
 * filter's row) are a vector as they are, each column is a value of b for all of them, and a tile
 * is a few vectors by all columns. What it gives is turned round on its way to c.
 *
 * Bound: with V vectors and O columns, V O multiply-adds want 2 V loads (vectors stand anywhere, so
 * they cross lines) and O + 1 more: as many at 6 x 2 as two units take, fewer at 6 x 4. Lines whose
 * length is no multiple of a vector leave lanes empty: 14 pixels fill 14 of 16.
 *
 * Order: micro.h's, and its bits.
 *
 * Threads: pure functions on the caller's memory.      Test: tests/unit/tiles/test_narrow.c
 */
#ifndef HR_TILES_LANES_H
#define HR_TILES_LANES_H

#include "tiles/narrow.h"

enum { HR_LANES_MAX_COLUMNS = 8 };

/* Columns that are read of a row of b: 4, 6 or 8. */
static inline size_t hr_lanes_columns(size_t columns)
{
    return columns <= 4 ? 4 : columns <= 6 ? 6 : 8;
}

struct hr_lanes {
    size_t rows; /* in a vector */

    /* As hr_narrow_tiles's, of up to HR_LANES_MAX_COLUMNS columns; line.step is 1, and b readable
     * to hr_lanes_columns. Nothing outside of the rows is read. */
    void (*tiles)(const struct hr_narrow *narrow, const uint32_t *row, struct hr_line line,
                  size_t from, size_t to);

    /* to[j * to_stride + i] = from[i * stride + j]      i < rows, j < columns */
    void (*turn)(size_t rows, size_t columns, const float *from, size_t stride, float *to,
                 size_t to_stride);
};

HR_ISA_DECLARE(struct hr_lanes, hr_lanes);

/* The copy in use, as hr_tiles (micro.h). */
static inline const struct hr_lanes *hr_lanes(void)
{
    return hr_kernels_are_reference() ? &hr_lanes_plain : HR_ISA_PICK(hr_lanes);
}

#endif
