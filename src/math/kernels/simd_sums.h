/* simd_sums.h - what vectors of the instruction set are computed with where all copies of a file
 * give the same bits: e^x, the larger of two, sums of a row in sixteen parts (rows.h).
 *
 * Threads: pure functions on vectors.      Test: those of the kernels made of it
 */
#ifndef HR_KERNELS_SIMD_SUMS_H
#define HR_KERNELS_SIMD_SUMS_H

#include "kernels/simd.h"

#define INLINE static inline __attribute__((always_inline))

/* Sixteen numbers are this many vectors. */
enum { SIXTEEN = 16, PARTS = SIXTEEN / LANES };
#define FOR_PARTS(p) _Pragma("GCC unroll 4") for (size_t p = 0; p < PARTS; p++)

struct sixteen {
    vec part[PARTS];
};

/* x where the mask is set, else y. */
INLINE vec choose(bits mask, vec x, vec y)
{
    return (vec)((mask & (bits)x) | (~mask & (bits)y));
}

/* a > b ? a : b, so that b stays where either is NaN. */
INLINE vec larger(vec a, vec b)
{
#if defined __AVX512F__
    return _mm512_max_ps(a, b);
#elif defined __AVX2__
    return _mm256_max_ps(a, b);
#else
    return choose((bits)(a > b), a, b);
#endif
}

INLINE struct sixteen sixteen_of(float x)
{
    struct sixteen all;
#pragma GCC unroll 4
    for (size_t p = 0; p < PARTS; p++)
        all.part[p] = (vec){0} + x;
    return all;
}

/* Of `count` numbers from x on; others are 0. */
INLINE struct sixteen load_sixteen(const float *x, size_t count)
{
    struct sixteen all;
#pragma GCC unroll 4
    for (size_t p = 0; p < PARTS; p++)
        all.part[p] = p * LANES < count ? load_part(x + p * LANES, count - p * LANES) : (vec){0};
    return all;
}

INLINE void store_sixteen(float *to, struct sixteen all, size_t count)
{
#pragma GCC unroll 4
    for (size_t p = 0; p < PARTS; p++)
        if (p * LANES < count)
            store_part(to + p * LANES, all.part[p], count - p * LANES);
}

/* Lanes behind `half` brought to the front; the others are of no interest. */
INLINE vec second_half(vec x, size_t half)
{
#if defined __AVX512F__
    if (half == 8)
        return __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14,
                                       15);
    if (half == 4)
        return __builtin_shufflevector(x, x, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7);
    if (half == 2)
        return __builtin_shufflevector(x, x, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3);
    return __builtin_shufflevector(x, x, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1);
#elif defined __AVX2__
    if (half == 4)
        return __builtin_shufflevector(x, x, 4, 5, 6, 7, 4, 5, 6, 7);
    if (half == 2)
        return __builtin_shufflevector(x, x, 2, 3, 2, 3, 2, 3, 2, 3);
    return __builtin_shufflevector(x, x, 1, 1, 1, 1, 1, 1, 1, 1);
#else
    if (half == 2)
        return __builtin_shufflevector(x, x, 2, 3, 2, 3);
    return __builtin_shufflevector(x, x, 1, 1, 1, 1);
#endif
}

INLINE float sum_of(struct sixteen all)
{
#pragma GCC unroll 2
    for (size_t half = PARTS / 2; half > 0; half /= 2)
#pragma GCC unroll 2
        for (size_t p = 0; p < half; p++)
            all.part[p] += all.part[p + half];
    vec sum = all.part[0];
#pragma GCC unroll 4
    for (size_t half = LANES / 2; half > 0; half /= 2)
        sum += second_half(sum, half);
    return sum[0];
}

INLINE float largest_of(struct sixteen all)
{
    vec most = all.part[0];
#pragma GCC unroll 4
    for (size_t p = 1; p < PARTS; p++)
        most = larger(all.part[p], most);
#pragma GCC unroll 4
    for (size_t half = LANES / 2; half > 0; half /= 2)
        most = larger(second_half(most, half), most);
    return most[0];
}

/* e^x for x <= 0, not less than e^-87; NaN stays NaN. x = n ln 2 + r, |r| <= ln 2 / 2: adding
 * 0x1.8p23 leaves n in the low bits of a float, and the polynomial is that of Cephes' expf. */
INLINE vec exp_of_negative(vec x)
{
    const vec zero = {0};
    x = larger(zero - 87.0f, x);
    const vec rounded = x * 0x1.715476p0f + 0x1.8p23f, n = rounded - 0x1.8p23f;
    const vec r = (x - n * 0x1.63p-1f) + n * 2.12194440e-4f;
    vec p = zero + 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = (p * r * r + r) + 1.0f;
    return p * (vec)(((bits)rounded + 127) << 23);
}

#endif
