/* bf16_steps.h - what becomes of vectors of floats that are rounded to bfloat16 (bf16.h), for files
 * compiled once for each instruction set (base/isa.h): rounded, then relu. The bits are those of
 * hr_bf16_round in all of them.
 *
 * Threads: pure functions.
 * Test: tests/unit/kernels/test_bf16.c, test_norm.c, tests/unit/products/test_product_bf16.c
 */
#ifndef HR_KERNELS_BF16_STEPS_H
#define HR_KERNELS_BF16_STEPS_H

#include "kernels/simd.h"

#if defined __AVX512BF16__
static inline vec hr_bf16_rounded(vec x)
{
    const __m512i upper = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(x));
    return (vec)_mm512_slli_epi32(upper, 16);
}
#elif defined __AVX512F__
static inline vec hr_bf16_rounded(vec x)
{
    enum { NAN_EITHER = 0x81, DENORMAL = 0x20 };
    const __m512i all = _mm512_castps_si512(x);
    const __m512i last = _mm512_and_si512(_mm512_srli_epi32(all, 16), _mm512_set1_epi32(1));
    __m512i sum = _mm512_add_epi32(all, _mm512_add_epi32(last, _mm512_set1_epi32(0x7fff)));
    const __mmask16 nan = _mm512_fpclass_ps_mask(x, NAN_EITHER);
    const __mmask16 denormal = _mm512_fpclass_ps_mask(x, DENORMAL);
    sum = _mm512_mask_or_epi32(sum, nan, all, _mm512_set1_epi32(0x400000));
    sum = _mm512_mask_and_epi32(sum, denormal, all, _mm512_set1_epi32(INT32_MIN));
    return _mm512_castsi512_ps(_mm512_and_si512(sum, _mm512_set1_epi32(-65536)));
}
#else
static inline vec hr_bf16_rounded(vec x)
{
    const bits all = (bits)x, size = all & INT32_MAX;
    const bits nan = size > 0x7f800000, denormal = size < 0x800000;
    const bits value = all + (~nan & (0x7fff + (all >> 16 & 1)));
    return (vec)((value | (nan & 0x400000)) & ~(denormal & INT32_MAX) & -65536);
}
#endif

/* The same of what an operation gave in a thread that flushes denormals: none is left. Half the
 * instructions; of a NaN other bits. */
static inline vec hr_bf16_rounded_sum(vec x)
{
    const bits all = (bits)x, value = all + 0x7fff + (all >> 16 & 1);
    return (vec)((value | (bits)(x != x)) & -65536);
}

static inline vec hr_bf16_relu(vec x)
{
    return (vec)((bits)x & ~(bits)(x < 0.0f));
}

#endif
