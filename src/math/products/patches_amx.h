/* patches_amx.h - patches_bf16.h in the order of AMX (tiles/micro_amx.h): a tile of a product reads
 * its 16 rows where they stand, in the image.
 *
 * Forward and backward-data: chunks are the taps, in their order, that stand side by side
 * (patches->tap_line, steps of 1), cut into equal parts of at most 16, as large as can be. The
 * weights' gradient: chunks are a line's pixels, cut likewise. Rules of shape, both; nothing is
 * filled up.
 *
 * Tiles of pixels: a line in parts of at most 16, as equal as can be, of which the last overlaps
 * the one before where they are not: those pixels are computed twice, with the same bits.
 *
 * Threads: pure functions on the caller's memory, in any floating-point mode.
 * Test: tests/unit/nn/test_conv_bf16.c
 */
#ifndef HR_PRODUCTS_PATCHES_AMX_H
#define HR_PRODUCTS_PATCHES_AMX_H

#include "products/patches_bf16.h"

/* y (npixels, columns) = patches * panels (ntaps, columns) of patches_bf16.h, overwritten. */
void hr_patches_multiply_amx(const struct hr_patches *patches, const uint32_t *image,
                             const uint32_t *panels, const struct hr_patches_end *end,
                             const struct hr_matrix *y);

/* --- the weights' gradient, turned round: rows are columns of dy, columns are taps --- */

/* dy's columns as rows of pairs, a row hr_amx_row(npixels) behind the one before; so many pairs in
 * all. */
size_t hr_amx_row(size_t npixels);
size_t hr_amx_rows_elems(size_t npixels, size_t columns);

/* dw is tiles of 16 columns of dy by 16 taps: those of the first 16 columns, then the next. A
 * line of taps has whole tiles of its own. */
size_t hr_amx_tap_tiles(const struct hr_patches *patches);
size_t hr_amx_dw_elems(const struct hr_patches *patches, size_t columns);
size_t hr_amx_dw_at(const struct hr_patches *patches, size_t tap, size_t column);

/* Tiles [from, to) of taps of dw = rows (columns, npixels) * patches, or with `more` the sums that
 * are there go on. Up to 15 pairs behind the image's last are read, for nobody. */
void hr_patches_correlate_amx(const struct hr_patches *patches, const uint32_t *image,
                              const uint32_t *rows, size_t columns, size_t from, size_t to,
                              bool more, float *dw);

#endif
