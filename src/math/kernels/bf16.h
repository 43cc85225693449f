/* bf16.h - bfloat16 values, pairs of them, and the sum of products that everything with
 * `--precision bf16` is made of.
 *
 * A bfloat16 value is the upper half of a float: sign, the same exponent, 7 bits of fraction. It
 * stands in memory as the float that it is (activations), or two of them stand in 32 bits (what
 * products read): the lower half is the even one, the upper half the odd one.
 *
 * Rounding, of any float: to the nearest, ties to even; too large: infinity; a denormal: zero of
 * its sign, so no value here is ever denormal; NaN stays NaN. The bits of AVX512_BF16's
 * VCVTNEPS2BF16.
 *
 * A sum of products over k = 0, 1, ..., K-1 goes by pairs:
 *
 *     sum = fma(a[2p], b[2p], fma(a[2p+1], b[2p+1], sum))        p = 0, 1, ...
 *
 * where fma rounds once, to the nearest even float; denormal floats are zeros, read or written (a
 * result that is denormal after its rounding is a zero of its sign). An odd K has zeros behind it
 * in a and in b. This is VDPBF16PS, which looks at no mode of the thread; without it the same is
 * done by tiles of floats (hr_bf16_as_floats), or in double (plain). All copies give
 * the same bits, but for the sign and payload of a NaN.
 *
 * Where there are AMX tiles dense layers and convolutions sum in their order instead
 * (tiles/micro_amx.h), unless the kernels are the reference; so bits of machines with and without
 * differ, but for HOGRING_ISA=v4bf16 there or v4amx here (base/isa.h).
 *
 * Threads: pure functions on the caller's memory.     Test: tests/unit/kernels/test_bf16.c
 */
#ifndef HR_KERNELS_BF16_H
#define HR_KERNELS_BF16_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/isa.h"
#include "kernels/select.h"

static inline uint32_t hr_bf16_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float hr_bf16_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The bits of the rounded value, a float whose lower half is zero. */
static inline uint32_t hr_bf16_round_bits(uint32_t x)
{
    const uint32_t size = x & 0x7fffffff;
    const uint32_t rounded = x + 0x7fff + (x >> 16 & 1);
    const uint32_t value = size > 0x7f800000 ? x | 0x400000
                           : size < 0x800000 ? x & 1u << 31
                                             : rounded;
    return value & 0xffff0000;
}

static inline float hr_bf16_round(float x)
{
    return hr_bf16_float(hr_bf16_round_bits(hr_bf16_bits(x)));
}

static inline uint32_t hr_bf16_pair(float even, float odd)
{
    return hr_bf16_round_bits(hr_bf16_bits(even)) >> 16 | hr_bf16_round_bits(hr_bf16_bits(odd));
}

static inline float hr_bf16_even(uint32_t pair)
{
    return hr_bf16_float(pair << 16);
}

static inline float hr_bf16_odd(uint32_t pair)
{
    return hr_bf16_float(pair & 0xffff0000);
}

/* fma(a, b, c) as above, of bfloat16 values a and b: whatever the machine has, and in whatever mode
 * the thread is. */
float hr_bf16_fma(float a, float b, float c);

/* One pair onto a sum. */
static inline float hr_bf16_dot(uint32_t a, uint32_t b, float sum)
{
    return hr_bf16_fma(hr_bf16_even(a), hr_bf16_even(b),
                       hr_bf16_fma(hr_bf16_odd(a), hr_bf16_odd(b), sum));
}

/* Are products summed in the order of AMX? Constant once the kernels are selected. */
static inline bool hr_bf16_sums_as_amx(void)
{
    return hr_isa_sums_as_amx() && !hr_kernels_are_reference();
}

/* Are pairs two floats that are multiplied as floats? Where there are fused multiply-adds and no
 * instruction for pairs (v4, v3), products round a and b on their way into panels of floats, where
 * of each pair of k the odd one is first: then a tile of floats makes the sum above, in a thread
 * that flushes denormals. Constant as the order is. */
static inline bool hr_bf16_as_floats(void)
{
#ifdef __x86_64__
    return hr_isa() >= HR_ISA_V3 && !hr_isa_has_bf16() && !hr_isa_sums_as_amx() &&
           !hr_kernels_are_reference();
#else
    return false;
#endif
}

/* HR_BF16_PAIRS, as above, or HR_BF16_AMX. */
#define HR_BF16_PAIRS "pairs"
#define HR_BF16_AMX "amx"
const char *hr_bf16_order(void);

/* "bf16, tiles v4bf16", "bf16, tiles v3, in AMX's order", "bf16, reference": which copy is in use;
 * static storage. */
const char *hr_bf16_name(void);

enum { HR_BF16_MAX_WIDTH = 32 }; /* of a panel: 12, 16 or 32 */

/* Loops that round. A panel (K pairs, width) holds pairs of k: row p is k = 2p and 2p + 1, and
 * columns past the last, and an odd K's last, are zeros. */
struct hr_bf16 {
    /* y (count) = x (count) rounded; y may be x */
    void (*round)(size_t count, const float *x, float *y);

    /* pairs ((count + 1) / 2) of neighbours in x (count) */
    void (*pack)(size_t count, const float *x, uint32_t *pairs);

    /* pairs (rows, width) of even[r * stride + j] and odd[r * stride + j], j < columns; odd NULL:
     * zeros; zeros from `columns` on */
    void (*pack_two)(size_t rows, size_t columns, const float *even, const float *odd,
                     size_t stride, size_t width, uint32_t *pairs);

    /* panels end to end of x[k][j] = x[k * stride + j], for any number of columns */
    void (*pack_rows)(size_t K, size_t columns, const float *x, size_t stride, size_t width,
                      uint32_t *panels);

    /* one panel of x[k][j] = x[j * stride + k], j < columns <= width */
    void (*pack_columns)(size_t K, size_t columns, const float *x, size_t stride, size_t width,
                         uint32_t *panel);

    /* rows of pairs, side by side: to[j * to_row + p] of even[p * stride + j] and
     * odd[p * stride + j], p < count, j < columns; odd_count of them: then zeros */
    void (*pack_turned)(size_t count, size_t odd_count, size_t columns, const float *even,
                        const float *odd, size_t stride, uint32_t *to, size_t to_row);

    /* For products as floats, in a thread that flushes denormals; of NaN not all bits are as above.
     * y (K rounded up to even): x (K) rounded, y[k ^ 1] = x[k]; an odd K's last has a zero */
    void (*swap)(size_t K, const float *x, float *y);

    /* rows 2r and 2r + 1 of y (2 rows, width) = rows r of odd and of even, `stride` apart, j <
     * columns <= width; odd NULL: zeros */
    void (*swap_two)(size_t rows, size_t columns, const float *even, const float *odd,
                     size_t stride, size_t width, float *y);
};

HR_ISA_DECLARE_BF16(struct hr_bf16, hr_bf16);

/* The copy in use, plain where the kernels are the reference (select.h). */
static inline const struct hr_bf16 *hr_bf16(void)
{
    return hr_kernels_are_reference() ? &hr_bf16_plain : HR_ISA_PICK_BF16(hr_bf16);
}

/* Of a matrix: y[(k ^ 1) * width + j] = x[k * stride + j]; an odd K's last pair has zeros. x may be
 * y where stride is width. */
static inline void hr_bf16_swap_rows(size_t K, size_t columns, const float *x, size_t stride,
                                     size_t width, float *y)
{
    const size_t whole = K - K % 2;
    hr_bf16()->swap_two(K / 2, columns, x, x + stride, 2 * stride, width, y);
    if (K % 2)
        hr_bf16()->swap_two(1, columns, x + whole * stride, NULL, 0, width, y + whole * width);
}

#endif
