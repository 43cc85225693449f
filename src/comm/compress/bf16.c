/* The upper halves of floats, rounded. */
#include "compress/compressors.h"
#include "compress/round.h"
#include "kernels/bf16.h"

static const uint32_t LARGEST = 0x7f7f0000;

static uint16_t to_bf16(float due)
{
    const uint32_t rounded = hr_bf16_round_bits(hr_float_bits(due));
    const bool outgrown =
        (rounded & HR_FLOAT_SIZE_BITS) == HR_FLOAT_INFINITY && hr_float_is_finite(due);
    const uint32_t sign = rounded & ~(uint32_t)HR_FLOAT_SIZE_BITS;
    return (uint16_t)((outgrown ? sign | LARGEST : rounded) >> 16);
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
        out[i] = to_bf16(due);
        error[i] = hr_compress_lacks(due, hr_float_of((uint32_t)out[i] << 16));
    }
}

static void decode(const struct hr_compress *c, size_t n, const void *packet, float *x)
{
    const uint16_t *in = packet;
    (void)c;
    for (size_t i = 0; i < n; i++)
        x[i] = hr_float_of((uint32_t)in[i] << 16);
}

const struct hr_compressor hr_compressor_bf16 = {
    .name = "bf16",
    .example = "bf16",
    .block_bytes = HR_COMPRESS_BLOCK * sizeof(uint16_t),
    .bytes = bytes,
    .encode = encode,
    .decode = decode,
};
