/* narrow.h - register tiles for products with few columns: one vector wide, and tall.
 *
 *     c[i][j] = sum over k = 0, 1, ..., K-1 of a[row i][offset[k]] * b[k][j]      j < columns
 *
 * A tile of six rows (micro.h) and one vector would be six chains of additions, too few to keep two
 * multiply-add units busy. These are made of quads, four rows that stand evenly in `a` (pixels side
 * by side, or taps), so that a register and three distances reach four rows: as many quads make a
 * tile as the registers hold.
 *
 * Bound: a row needs a load and a multiply-add a k, so that two loads and two multiply-adds a cycle
 * are balanced but for the row of b and the offset: R / (R + 2), 0.92 with 24 rows.
 *
 * Order: micro.h's, and its bits: one chain over k, then bias or the old c. They depend neither on
 * the tile nor on the quad.
 *
 * Threads: pure functions on the caller's memory.      Test: tests/unit/tiles/test_narrow.c
 */
#ifndef HR_TILES_NARROW_H
#define HR_TILES_NARROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"
#include "kernels/select.h"

enum { HR_NARROW_QUAD = 4 };

/* How rows stand: r is the first of a line where r % length is 0, and the others of the line stand
 * `step` floats behind the one before. */
struct hr_line {
    size_t length, step;
};

struct hr_narrow {
    size_t K;
    const float *a;
    const uint32_t *offset; /* (K) */
    const float *b;         /* row k is b + k * b_stride; only its columns are read */
    size_t b_stride;
    size_t columns; /* 1 to those of the tiles */
    float *c;       /* of row 0; row i is c + i * c_stride; overwritten, or with `add` added to */
    size_t c_stride;
    const float *bias; /* (columns), or NULL; not with `add` */
    bool round, relu;  /* as in micro.h */
    bool add, go_on;
};

struct hr_narrow_tiles {
    size_t columns; /* at most: 4, 8 or 16 */

    /* Rows [from, to) of c; row r begins at a + row[r]. A line has HR_NARROW_QUAD rows or more, and
     * its last quad overlaps the one before: those rows are computed twice, and stored once. */
    void (*rows)(const struct hr_narrow *narrow, const uint32_t *row, struct hr_line line,
                 size_t from, size_t to);
};

HR_ISA_DECLARE(struct hr_narrow_tiles, hr_narrow_tiles);

/* The copy in use, as hr_tiles (micro.h). */
static inline const struct hr_narrow_tiles *hr_narrow_tiles(void)
{
    return hr_kernels_are_reference() ? &hr_narrow_tiles_plain : HR_ISA_PICK(hr_narrow_tiles);
}

#endif
