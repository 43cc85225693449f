/* norm.h - the loops of batch normalisation over a matrix (R,C): R pixels of C channels, row-major.
 * Rows stand `row` floats apart, so that C may be some of the channels. One copy an instruction set
 * (base/isa.h); all give the same bits.
 *
 * Order: rows are cut into blocks of HR_NORM_BLOCK; each channel's sum of a block goes over its
 * rows from the first to the last, in double, where a float's square is exact. Sums stay in
 * registers meanwhile, those of several channels, or of two blocks, side by side.
 *
 * A relu behind the normalisation is done here too, in both directions. Its mask is the sign of
 * what `apply` wrote, and is computed again from x: the same operations, the same bits.
 *
 * Threads: pure functions on the caller's memory.      Test: tests/unit/kernels/test_norm.c
 */
#ifndef HR_KERNELS_NORM_H
#define HR_KERNELS_NORM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/isa.h"

enum { HR_NORM_BLOCK = 512 };

static inline size_t hr_norm_blocks(size_t R)
{
    return (R + HR_NORM_BLOCK - 1) / HR_NORM_BLOCK;
}

/* What becomes of a value before it is stored: relu, then rounding to bfloat16 (bf16.h). */
struct hr_norm_end {
    bool relu, round;
};

struct hr_norm {
    /* sums (blocks,2,C) out, overwritten: of x (R,C), and of its squares */
    void (*moments)(size_t R, size_t C, size_t row, const float *x, double *sums);

    /* sums (blocks,2,C) out, overwritten: of dy (R,C), and of dy * (x - mean);  mean (C)
     *   gate (3,C) NULL, or apply's coef when a relu followed it: where that gave nothing above 0,
     *        dy counts as 0 */
    void (*gradients)(size_t R, size_t C, size_t row, const float *x, const float *dy,
                      const double *mean, const float *gate, double *sums);

    /* y (R,C) = (x - center) * scale + shift, and max(0, .) with end.relu; coef (3,C): center,
     * scale, shift; y may be x */
    void (*apply)(size_t R, size_t C, size_t row, const float *x, const float *coef,
                  struct hr_norm_end end, float *y);

    /* dx (R,C) = scale * (dy - shift - (x - center) * slope); coef (4,C): center, scale, shift,
     * slope; gate as above; end.relu means nothing; dx may be dy */
    void (*backward)(size_t R, size_t C, size_t row, const float *x, const float *dy,
                     const float *coef, const float *gate, struct hr_norm_end end, float *dx);
};

HR_ISA_KERNELS(hr_norm)

#endif
