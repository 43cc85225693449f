/* norm.h - the loops of batch normalisation over a matrix (R,C): R pixels of C channels, row-major.
 * Rows stand `row` floats apart, so that C may be some of the channels. One copy an instruction set
 * (base/isa.h); all give the same bits.
 *
 * Order: each channel's sums go over the rows from the first to the last, in double, where a
 * float's square is exact.
 *
 * Threads: pure functions on the caller's memory.      Test: tests/unit/nn/test_batchnorm.c
 */
#ifndef HR_KERNELS_NORM_H
#define HR_KERNELS_NORM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/isa.h"

struct hr_norm {
    /* sums (2,C) out, overwritten: of x (R,C), and of its squares */
    void (*moments)(size_t R, size_t C, size_t row, const float *x, double *sums);

    /* sums (2,C) out, overwritten: of dy (R,C), and of dy * (x - mean);  mean (C) */
    void (*gradients)(size_t R, size_t C, size_t row, const float *x, const float *dy,
                      const double *mean, double *sums);

    /* y (R,C) = (x - center) * scale + shift, and max(0, .) with `relu`; coef (3,C): center, scale,
     * shift; y may be x */
    void (*apply)(size_t R, size_t C, size_t row, const float *x, const float *coef, bool relu,
                  float *y);

    /* dx (R,C) = scale * (dy - shift - (x - center) * slope); coef (4,C): center, scale, shift,
     * slope; dx may be dy */
    void (*backward)(size_t R, size_t C, size_t row, const float *x, const float *dy,
                     const float *coef, float *dx);
};

HR_ISA_KERNELS(hr_norm)

#endif
