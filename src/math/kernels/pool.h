/* pool.h - pooling of one image, one copy an instruction set (base/isa.h).
 *
 * x is an image (H,W,C) in memory, y one of (OH,OW,C); struct hr_sliding says which window of x
 * becomes which pixel of y, and whether these are some of the channels of both. All copies give the
 * same bits; NaN passes through.
 *
 * Threads: pure functions on the caller's memory.
 * Test: tests/unit/nn/test_conv.c, against a twin in double precision.
 */
#ifndef HR_KERNELS_POOL_H
#define HR_KERNELS_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"
#include "kernels/sliding.h"

/* The number of a place in a window is a byte. */
enum { HR_POOL_MAX_WINDOW = 256 };

struct hr_pooling {
    /* y = the largest of each window, the padding being smaller than all numbers.
     *   place (OH,OW,C) out: where in the window it stands, row by row; the first of equals. NULL:
     *         not wanted */
    void (*max)(const struct hr_sliding *s, const float *x, float *y, uint8_t *place);

    /* The gradient of the above.
     *   y     (OH,OW,C) NULL, or the outputs when they went through relu: where these are not above
     *         0, dy counts as 0
     *   dx    (H,W,C) out, overwritten: dy at its place, added in the order of y where windows
     *         overlap; a row begins x_row floats behind the one before it */
    void (*max_back)(const struct hr_sliding *s, const float *y, const float *dy,
                     const uint8_t *place, float *dx, size_t x_row);

    /* y = the mean of each window, the padding counted as zeros. */
    void (*mean)(const struct hr_sliding *s, const float *x, float *y);

    /* dx (H,W,C) out, overwritten. */
    void (*mean_back)(const struct hr_sliding *s, const float *dy, float *dx);
};

HR_ISA_KERNELS(hr_pooling)

#endif
