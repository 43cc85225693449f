/* patches.h - the patches of an image under a filter, as the rows of a matrix that is never made.
 *
 *     patch(p, k) = image[pixel[p] + tap[k]]          p < npixels, k < ntaps
 *
 * So any stride, dilation, padding (zeros stand around the image in memory) and group of channels
 * is two short tables, and a convolution is a product by the register tile (tiles/micro.h), or
 * where columns are few by the narrow one (tiles/narrow.h), or with pixels in lanes
 * (tiles/lanes.h).
 *
 * Threads: pure functions on the caller's memory.      Test: tests/unit/nn/test_conv.c
 */
#ifndef HR_PRODUCTS_PATCHES_H
#define HR_PRODUCTS_PATCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tiles/narrow.h"

struct hr_patches {
    size_t npixels, ntaps;
    const uint32_t *pixel, *tap;
    struct hr_line pixel_line, tap_line;
    bool bf16; /* image and panels are bfloat16 values (kernels/bf16.h), and sums go on */
};

/* What becomes of a sum. */
struct hr_patches_end {
    const float *bias; /* of a column; NULL: none */
    bool round, relu;  /* to bfloat16; relu behind the rounding */
};

/* Is a product of so few columns, of rows in lines of `length`, faster with rows in lanes, where
 * they stand side by side? A rule of shape and instruction set alone. */
bool hr_patches_want_lanes(size_t columns, size_t length);

/* Floats of a (rows, columns) matrix as panels: columns [0, width) of all rows, then the next, and
 * zeros up to the tile's width (tiles/micro.h). */
size_t hr_panels_elems(size_t rows, size_t columns);

/* Where element (row, column) stands in panels of `rows` rows. */
size_t hr_panels_at(size_t rows, size_t row, size_t column);

/* A matrix that stands in memory row by row, or as panels. */
struct hr_matrix {
    float *at;
    size_t columns, stride;
};

/* y (npixels, columns) = patches * panels (ntaps, columns), overwritten. Each element is summed in
 * the order of the taps. */
void hr_patches_multiply(const struct hr_patches *patches, const float *image, const float *panels,
                         const struct hr_patches_end *end, const struct hr_matrix *y);

/* Does correlate read behind the last of so many columns of dy, up to the tile's width? */
bool hr_patches_read_beyond(const struct hr_patches *patches, size_t columns);

/* dw rows [from, to) of (ntaps, columns) = patches^T * dy (npixels, columns), or with `add` that is
 * added, of bfloat16 values to the sums as they go on; summed in the order of the pixels.
 *   dy  where read_beyond says so, floats up to the tile's width behind the last column of a row
 *       must be readable */
void hr_patches_correlate(const struct hr_patches *patches, const float *image,
                          const struct hr_matrix *dy, size_t from, size_t to, bool add, float *dw);

#endif
