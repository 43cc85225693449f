/* bf16_steps.h - what becomes of sums of bfloat16 products, for tiles compiled once for each
 * instruction set (base/isa.h): rounded to bfloat16, then relu.
 *
 * Threads: pure functions, in threads that flush denormals (base/fpenv.h).
 * Test: tests/unit/products/test_product_bf16.c
 */
#ifndef HR_TILES_BF16_STEPS_H
#define HR_TILES_BF16_STEPS_H

#include "kernels/simd.h"

static inline vec hr_bf16_rounded(vec x)
{
    union {
        vec v;
        bits b;
    } is = {.v = x};
    const bits size = is.b & INT32_MAX, sign = is.b & INT32_MIN;
    const bits value = is.b + 0x7fff + (is.b >> 16 & 1);
    const bits nan = size > 0x7f800000, denormal = size < 0x800000;
    is.b = ((nan & (is.b | 0x400000)) | (denormal & sign) | (~(nan | denormal) & value)) & -65536;
    return is.v;
}

static inline vec hr_bf16_relu(vec x)
{
    return (vec)((bits)x & ~(bits)(x < 0.0f));
}

#endif
