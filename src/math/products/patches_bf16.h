/* patches_bf16.h - patches.h for pairs of bfloat16 values (kernels/bf16.h): an image of pairs,
 * tables that count pairs.
 *
 *     patch(p, k) = image[pixel[p] + tap[k]]          p < npixels, k < ntaps, 32 bits each
 *
 * Forward and backward-data: a pair is two neighbouring channels of a pixel, of an odd number the
 * last with a zero, and a sum goes over taps in their order. The weights' gradient: a pair is the
 * same place in two neighbouring images of the batch, the last of an odd number with zeros, and a
 * sum goes over those pairs of images, and of each over the pixels.
 *
 * Where pairs are multiplied as floats patches.h has all of that (kernels/bf16.h).
 * In the order of AMX patches_amx.h multiplies; there taps of backward-data go from the last on.
 *
 * Threads: pure functions on the caller's memory, in any floating-point mode.
 * Test: tests/unit/nn/test_conv_bf16.c
 */
#ifndef HR_PRODUCTS_PATCHES_BF16_H
#define HR_PRODUCTS_PATCHES_BF16_H

#include "products/patches.h"

/* Pairs of a (rows, columns) matrix of them as panels of 32 columns, end to end. */
size_t hr_panels_bf16_elems(size_t rows, size_t columns);

/* Where element (row, column) stands in them. */
size_t hr_panels_bf16_at(size_t rows, size_t row, size_t column);

/* y (npixels, columns) = patches * panels (ntaps, columns), overwritten. */
void hr_patches_multiply_bf16(const struct hr_patches *patches, const uint32_t *image,
                              const uint32_t *panels, const struct hr_patches_end *end,
                              const struct hr_matrix *y);

/* dw rows [from, to) of (ntaps, columns) = patches^T * panels (npixels, columns), or with `more`
 * the sums that are there go on. */
void hr_patches_correlate_bf16(const struct hr_patches *patches, const uint32_t *image,
                               const uint32_t *panels, size_t columns, size_t from, size_t to,
                               bool more, float *dw);

#endif
