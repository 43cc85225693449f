/* smooth.h - sigmoid, tanh and gelu, and their gradients, without a branch, so that they are
 * vectors; one copy an instruction set (base/isa.h), all with the same bits.
 *
 * Error against the exact value, over all finite floats (walked by test_smooth.c):
 *     sigmoid   2.5e-7 of the value, or 2e-38
 *     tanh      2.5e-7 of the value
 *     gelu      5e-7 of |x|    its derivative 1e-6
 * NaN stays NaN.
 *
 * Threads: pure functions on the caller's memory.
 */
#ifndef HR_KERNELS_SMOOTH_H
#define HR_KERNELS_SMOOTH_H

#include <stddef.h>

#include "base/isa.h"

struct hr_smooth {
    /* y (count) = f(x (count)); y may be x */
    void (*sigmoid)(size_t count, const float *x, float *y);
    void (*tanh)(size_t count, const float *x, float *y);
    void (*gelu)(size_t count, const float *x, float *y);

    /* dx (count) = dy (count) f'(x), from y = f(x), or for gelu from x itself; dx may be dy */
    void (*sigmoid_backward)(size_t count, const float *y, const float *dy, float *dx);
    void (*tanh_backward)(size_t count, const float *y, const float *dy, float *dx);
    void (*gelu_backward)(size_t count, const float *x, const float *dy, float *dx);
};

HR_ISA_KERNELS(hr_smooth)

#endif
