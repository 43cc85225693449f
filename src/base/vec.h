/* vec.h - vector kernels, and the one order in which hogring adds several ranks' numbers.
 *
 * T(n) is the binary tree over n inputs that splits at the largest power of two below n:
 *     T(1) = x0    T(2) = x0 + x1    T(3) = (x0 + x1) + x2    T(4) = (x0 + x1) + (x2 + x3)
 *     T(5) = ((x0 + x1) + (x2 + x3)) + x4
 * The order of addition of element i depends on n alone.
 *
 * Threads: pure functions on the caller's memory. Pointers may overlap only where said.
 * Test: tests/unit/base/test_vec.c compares each instruction set with the naive twin, bit by bit.
 */
#ifndef HR_BASE_VEC_H
#define HR_BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>

#include "base/isa.h"

#define HR_VEC_MAX_INPUTS 1024

struct hr_vec {
    /* Tree sum of n inputs into `nout` outputs.
     *   x     n pointers to `count` floats each; 1 <= n <= HR_VEC_MAX_INPUTS
     *   out   nout pointers to `count` floats each; an output may be exactly one of the inputs
     * out[j][i] = T(n) over x[0][i] .. x[n-1][i]. */
    void (*tree_sum)(float *const *out, size_t nout, const float *const *x, size_t n, size_t count);

    /* y[i] = y[i] + x[i]; x and y are disjoint or the same. */
    void (*add)(float *y, const float *x, size_t count);

    /* y[i] = a * y[i] */
    void (*scale)(float *y, float a, size_t count);

    /* y[i] = y[i] + a * x[i], rounded twice. */
    void (*axpy)(float *y, float a, const float *x, size_t count);

    /* Draw two arrays together: d = a (x[i] - c[i]), x[i] = x[i] - d, c[i] = c[i] + d; disjoint. */
    void (*exchange)(float *x, float *c, float a, size_t count);

    /* Copy x (count) into nout outputs past the caches, where the machine can: no line is loaded
     * only to be overwritten. For more memory than the caches hold; of less, the next reader would
     * miss. Ordered before whatever this thread stores next, as any other copy. */
    void (*copy_past)(float *const *out, size_t nout, const float *x, size_t count);

    /* Is none of them infinite or not a number? */
    bool (*all_finite)(const float *x, size_t count);
};

HR_ISA_KERNELS(hr_vec)

#endif
