/* Bytes, with a scale for each block.
 *
 *   Packet   for each block: scale (4 bytes), then a signed byte a value, -127 to 127.
 *   Small    a block whose largest magnitude is below 2^-112 is sent as zeros, scale 0: its scale
 *            times a byte could be denormal. The error keeps it.
 */
#include "base/size.h"
#include "compress/compressors.h"
#include "compress/round.h"

/* 127 times the largest scale is finite; the largest float, divided by 127, is rounded up. */
static const float SMALLEST = 0x1p-112f, LARGEST_BYTE = 127.0f, LARGEST_SCALE = 0x1.020406p121f;

static uint32_t largest_size(const float *x, size_t n)
{
    uint32_t largest = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t size = hr_float_size(x[i]);
        largest = size > largest ? size : largest;
    }
    return largest;
}

/* NaN: some value of the block is not finite. */
static float scale_of(uint32_t largest)
{
    if (largest >= HR_FLOAT_INFINITY)
        return hr_float_of(0x7fc00000);
    const float scale = hr_float_of(largest) / LARGEST_BYTE;
    return hr_float_of(largest) < SMALLEST ? 0 : scale > LARGEST_SCALE ? LARGEST_SCALE : scale;
}

/* To the nearest whole number, ties to even: x is no more than 127 and a bit. */
static float nearest(float x)
{
    static const float shift = 0x1.8p23f;
    const float whole = (x + shift) - shift;
    return whole > LARGEST_BYTE ? LARGEST_BYTE : whole < -LARGEST_BYTE ? -LARGEST_BYTE : whole;
}

/* error holds what is due. */
static void encode_block(size_t n, float *error, unsigned char *out)
{
    const float scale = scale_of(largest_size(error, n));
    int8_t *q = (int8_t *)(out + sizeof scale);
    memcpy(out, &scale, sizeof scale);
    if (!hr_float_is_finite(scale)) {
        memset(q, 0, n);
        memset(error, 0, n * sizeof *error);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        q[i] = scale > 0 ? (int8_t)nearest(error[i] / scale) : 0;
        error[i] = hr_compress_lacks(error[i], (float)q[i] * scale);
    }
}

static size_t bytes(const struct hr_compress *c, size_t n)
{
    (void)c;
    return n + (n + HR_COMPRESS_BLOCK - 1) / HR_COMPRESS_BLOCK * sizeof(float);
}

enum { BLOCK_BYTES = HR_COMPRESS_BLOCK + sizeof(float) };

static void encode(const struct hr_compress *c, size_t n, const float *x, float *error,
                   void *packet)
{
    unsigned char *out = packet;
    (void)c;
    for (size_t i = 0; i < n; i++)
        error[i] = hr_compress_due(x[i], error[i]);
    for (size_t at = 0; at < n; at += HR_COMPRESS_BLOCK, out += BLOCK_BYTES)
        encode_block(hr_min_size(HR_COMPRESS_BLOCK, n - at), error + at, out);
}

static void decode(const struct hr_compress *c, size_t n, const void *packet, float *x)
{
    const unsigned char *in = packet;
    (void)c;
    for (size_t at = 0; at < n; at += HR_COMPRESS_BLOCK, in += BLOCK_BYTES) {
        const size_t count = hr_min_size(HR_COMPRESS_BLOCK, n - at);
        const int8_t *q = (const int8_t *)(in + sizeof(float));
        float scale;
        memcpy(&scale, in, sizeof scale);
        for (size_t i = 0; i < count; i++)
            x[at + i] = (float)q[i] * scale;
    }
}

const struct hr_compressor hr_compressor_int8 = {
    .name = "int8",
    .example = "int8",
    .block_bytes = BLOCK_BYTES,
    .bytes = bytes,
    .encode = encode,
    .decode = decode,
};
