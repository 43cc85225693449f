/* IEEE 754 binary16: sign, 5 bits of exponent, 10 of fraction. */
#include "compress/compressors.h"
#include "compress/round.h"

/* Floats, as bits: the smallest that is not denormal as a half, and 65520, which would round to
 * infinity. */
static const uint32_t SMALLEST_NORMAL = 0x38800000, TOO_LARGE = 0x477ff000;
enum { HALF_LARGEST = 0x7bff, HALF_INFINITY = 0x7c00, HALF_NAN = 0x7e00 };

/* Denormal halves are multiples of 2^-24: adding 0.5, whose last bit that is, rounds to one. */
static uint32_t round_small(uint32_t size)
{
    return hr_float_bits(hr_float_of(size) + 0.5f) - hr_float_bits(0.5f);
}

/* A new bias of the exponent, and 13 bits rounded off; a carry goes into the exponent. */
static uint32_t round_normal(uint32_t size)
{
    return (size - (UINT32_C(112) << 23) + 0xfff + (size >> 13 & 1)) >> 13;
}

static uint16_t to_half(float due)
{
    const uint32_t size = hr_float_size(due);
    const uint32_t sign = hr_float_bits(due) >> 16 & 0x8000;
    const uint32_t half = size > HR_FLOAT_INFINITY    ? HALF_NAN
                          : size == HR_FLOAT_INFINITY ? HALF_INFINITY
                          : size >= TOO_LARGE         ? HALF_LARGEST
                          : size < SMALLEST_NORMAL    ? round_small(size)
                                                      : round_normal(size);
    return (uint16_t)(sign | half);
}

static float of_half(uint16_t half)
{
    const uint32_t size = half & 0x7fffu, sign = (half & 0x8000u) << 16;
    const float small = (float)size * 0x1p-24f; /* exact */
    const uint32_t value = size >= HALF_INFINITY ? (size << 13) + (UINT32_C(224) << 23)
                           : size < 0x400        ? hr_float_bits(small)
                                                 : (size << 13) + (UINT32_C(112) << 23);
    return hr_float_of(sign | value);
}

static size_t bytes(const struct hr_compress *c, size_t n)
{
    (void)c;
    return n * sizeof(uint16_t);
}

static void encode(const struct hr_compress *c, size_t n, const float *x, float *error,
                   void *packet)
{
    uint16_t *out = packet;
    (void)c;
    for (size_t i = 0; i < n; i++) {
        const float due = hr_compress_due(x[i], error[i]);
        out[i] = to_half(due);
        error[i] = hr_compress_lacks(due, of_half(out[i]));
    }
}

static void decode(const struct hr_compress *c, size_t n, const void *packet, float *x)
{
    const uint16_t *in = packet;
    (void)c;
    for (size_t i = 0; i < n; i++)
        x[i] = of_half(in[i]);
}

const struct hr_compressor hr_compressor_fp16 = {
    .name = "fp16",
    .example = "fp16",
    .block_bytes = HR_COMPRESS_BLOCK * sizeof(uint16_t),
    .bytes = bytes,
    .encode = encode,
    .decode = decode,
};
