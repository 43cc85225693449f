/* winograd.h - 3x3 convolutions without stride as products of 16 planes (tiles/winograd.h), of
 * which each is one of register tiles (tiles/block.h):
 *
 *     V[p] (tiles, K) = planes of patches,  U[p] (K, columns) = planes of filters
 *     M[p] (tiles, columns) = V[p] U[p],    y = what comes back from M
 *
 *     dU[p] (K, columns) = V[p]^T D[p],     D[p] (tiles, columns) = planes of dy
 *
 * A few tiles at a time, so that V stays in L2, by a panel of columns, so that M does too.
 *
 * Order: tiles/winograd.h's, and for each element of M or dU micro.h's chain, over the channels or
 * the tiles of the batch in their order. So bits depend on no block and no thread, and are the same
 * wherever there are fused multiply-adds.
 *
 * Measured on one of 2 processors of an AMD EPYC with AVX-512 (Zen 5), beside others' work, minima
 * of 15 interleaved rounds, 32 images: times as fast as patches.h's tiles; forward, dweight:
 *     channels, image     v4          v3
 *     16, 32x32       0.91 1.20    0.86 0.92        too few channels
 *     32, 32x32       1.24 1.22    1.30 1.43
 *     64, 16x16       1.58 1.48    1.58 1.64
 *     128, 8x8        1.82 1.83    1.60 1.69
 *     256, 8x8        1.78 1.82
 *
 * Threads: pure functions on the caller's memory.   Test: tests/unit/nn/test_winograd.c
 */
#ifndef HR_PRODUCTS_WINOGRAD_H
#define HR_PRODUCTS_WINOGRAD_H

#include <stdbool.h>
#include <stddef.h>

#include "tiles/winograd.h"

/* Tiles in a row or column of so many outputs. */
static inline size_t hr_winograd_side(size_t outputs)
{
    return (outputs + 1) / 2;
}

/* Multiply-adds of its products for one image of height by width outputs. */
double hr_winograd_madds(size_t K, size_t columns, size_t height, size_t width);

/* Is it in use, and faster, for so many channels in and out, and outputs? A rule of shape and of
 * the kernels chosen alone. */
bool hr_winograd_wins(size_t K, size_t columns, size_t height, size_t width);

/* --- filters --- */

/* Floats of U, as panels of each plane, and of the memory that packing needs. */
size_t hr_winograd_panels_elems(size_t K, size_t columns);
size_t hr_winograd_pack_elems(size_t K);

/* U of weight (O,C,3,3): K is C and columns are O; or, for the gradient of x, the other way round,
 * with filters turned by half a turn.
 *   own  hr_winograd_pack_elems(K) */
void hr_winograd_pack(size_t C, size_t O, bool for_dx, const float *weight, float *own,
                      float *panels);

/* --- products --- */

struct hr_winograd_product {
    struct hr_winograd_tiles x, y; /* K and columns channels; x.count tiles are computed */
    const float *images;           /* with zeros around them */
    const float *panels;
    const float *bias; /* (columns), or NULL */
    bool relu;         /* NaN stays NaN */
    float *out;
    float *own; /* hr_winograd_multiply_elems(K), 64-byte aligned */
};

size_t hr_winograd_multiply_elems(size_t K);
void hr_winograd_multiply(const struct hr_winograd_product *product);

struct hr_winograd_correlation {
    struct hr_winograd_tiles x, dy; /* K and columns channels; x.count tiles are added up */
    const float *images, *gradients;
    size_t from, to; /* channels of x */
    bool add;        /* else these tiles are the first */
    float *sums;     /* dU (16, K, columns) */
    float *own;      /* hr_winograd_correlate_elems(K, columns), 64-byte aligned */
};

size_t hr_winograd_sums_elems(size_t K, size_t columns);
size_t hr_winograd_correlate_elems(size_t K, size_t columns);
void hr_winograd_correlate(const struct hr_winograd_correlation *correlation);

/* dweight (O,C,3,3) of sums (16,C,O).
 *   own  (9 * C * O) */
void hr_winograd_unpack(size_t C, size_t O, const float *sums, float *own, float *dweight);

#endif
