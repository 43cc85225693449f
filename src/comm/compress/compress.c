#include "compress/compress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/size.h"
#include "compress/round.h"
#include "kernels/bf16.h"

/* === bf16: the upper halves of floats, rounded === */

static const uint32_t LARGEST_BF16 = 0x7f7f0000;

static uint16_t to_bf16(float due)
{
    const uint32_t rounded = hr_bf16_round_bits(hr_float_bits(due));
    const bool outgrown =
        (rounded & HR_FLOAT_SIZE_BITS) == HR_FLOAT_INFINITY && hr_float_is_finite(due);
    const uint32_t sign = rounded & ~(uint32_t)HR_FLOAT_SIZE_BITS;
    return (uint16_t)((outgrown ? sign | LARGEST_BF16 : rounded) >> 16);
}

static size_t half_bytes(const struct hr_compress *c, size_t n)
{
    (void)c;
    return n * sizeof(uint16_t);
}

static void encode_bf16(const struct hr_compress *c, size_t n, const float *x, float *error,
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

static void decode_bf16(const struct hr_compress *c, size_t n, const void *packet, float *x)
{
    const uint16_t *in = packet;
    (void)c;
    for (size_t i = 0; i < n; i++)
        x[i] = hr_float_of((uint32_t)in[i] << 16);
}

static const struct hr_compressor bf16 = {
    .name = "bf16",
    .example = "bf16",
    .block_bytes = HR_COMPRESS_BLOCK * sizeof(uint16_t),
    .bytes = half_bytes,
    .encode = encode_bf16,
    .decode = decode_bf16,
};

/* === fp16: IEEE 754 binary16, sign, 5 bits of exponent, 10 of fraction === */

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

static void encode_fp16(const struct hr_compress *c, size_t n, const float *x, float *error,
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

static void decode_fp16(const struct hr_compress *c, size_t n, const void *packet, float *x)
{
    const uint16_t *in = packet;
    (void)c;
    for (size_t i = 0; i < n; i++)
        x[i] = of_half(in[i]);
}

static const struct hr_compressor fp16 = {
    .name = "fp16",
    .example = "fp16",
    .block_bytes = HR_COMPRESS_BLOCK * sizeof(uint16_t),
    .bytes = half_bytes,
    .encode = encode_fp16,
    .decode = decode_fp16,
};

/* === int8: bytes, with a scale for each block ===
 *
 *   Packet   for each block: scale (4 bytes), then a signed byte a value, -127 to 127.
 *   Small    a block whose largest magnitude is below 2^-112 is sent as zeros, scale 0: its scale
 *            times a byte could be denormal. The error keeps it. */

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

static size_t int8_bytes(const struct hr_compress *c, size_t n)
{
    (void)c;
    return n + (n + HR_COMPRESS_BLOCK - 1) / HR_COMPRESS_BLOCK * sizeof(float);
}

enum { BLOCK_BYTES = HR_COMPRESS_BLOCK + sizeof(float) };

static void encode_int8(const struct hr_compress *c, size_t n, const float *x, float *error,
                        void *packet)
{
    unsigned char *out = packet;
    (void)c;
    for (size_t i = 0; i < n; i++)
        error[i] = hr_compress_due(x[i], error[i]);
    for (size_t at = 0; at < n; at += HR_COMPRESS_BLOCK, out += BLOCK_BYTES)
        encode_block(hr_min_size(HR_COMPRESS_BLOCK, n - at), error + at, out);
}

static void decode_int8(const struct hr_compress *c, size_t n, const void *packet, float *x)
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

static const struct hr_compressor int8 = {
    .name = "int8",
    .example = "int8",
    .block_bytes = BLOCK_BYTES,
    .bytes = int8_bytes,
    .encode = encode_int8,
    .decode = decode_int8,
};

/* === topk: the largest values, and where they are ===
 *
 *   How      a value's magnitude is its bits without the sign, which order as magnitudes do. The
 *            k-th largest is found digit by digit: how many values have each first digit; those of
 *            the digit that the k-th is in, by their second; and so on: three passes. Then one pass
 *            takes all that are larger, and as many of those that are equal as there is room for,
 *            in order of index.
 *   Cost     4 passes over n values, no memory. */

/* Of 31 bits: 11, 10 and 10. */
enum { DIGITS = 3, FIRST_BITS = 11, NEXT_BITS = 10, MOST_DIGITS = 1 << FIRST_BITS };

/* Values at least that large; of those that are as large, the first `equal`. */
struct threshold {
    uint32_t size;
    size_t equal;
};

static void count_digits(const float *x, size_t n, uint32_t above, unsigned shift, unsigned bits,
                         size_t *count)
{
    const uint32_t mask = (UINT32_C(1) << bits) - 1;
    for (size_t i = 0; i < n; i++) {
        const uint32_t size = hr_float_size(x[i]);
        count[size >> shift & mask] += size >> shift >> bits == above;
    }
}

static struct threshold find_threshold(const float *x, size_t n, size_t k)
{
    static const unsigned shifts[DIGITS] = {2 * NEXT_BITS, NEXT_BITS, 0};
    uint32_t digits = 0;
    for (size_t d = 0; d < DIGITS; d++) {
        const unsigned bits = d ? NEXT_BITS : FIRST_BITS;
        size_t count[MOST_DIGITS] = {0};
        uint32_t digit = (UINT32_C(1) << bits) - 1;
        count_digits(x, n, digits, shifts[d], bits, count);
        for (; count[digit] < k; digit--)
            k -= count[digit];
        digits = digits << bits | digit;
    }
    return (struct threshold){digits, k};
}

static bool take_percent(const char *text, struct hr_compress *to)
{
    const size_t length = strlen(text);
    char number[32];
    double percent;
    if (length < 2 || length > sizeof number || text[length - 1] != '%')
        return false;
    memcpy(number, text, length - 1);
    number[length - 1] = '\0';
    if (!hr_parse_number(number, &percent) || !(percent > 0) || percent > 100)
        return false;
    to->percent = percent;
    return true;
}

size_t hr_compress_largest(const struct hr_compress *c, size_t n)
{
    /* A product of decimals may come out a rounding above the whole number that it is. */
    const double share = c->percent * (double)n / 100, k = ceil(share - share * 0x1p-51);
    return k < 1 ? hr_min_size(1, n) : hr_min_size((size_t)k, n);
}

size_t hr_compress_pairs_before(const struct hr_compress_pair *pair, size_t k, size_t end)
{
    size_t low = 0;
    while (low < k) {
        const size_t middle = low + (k - low) / 2;
        if (pair[middle].index < end)
            low = middle + 1;
        else
            k = middle;
    }
    return low;
}

static size_t topk_bytes(const struct hr_compress *c, size_t n)
{
    return hr_compress_largest(c, n) * sizeof(struct hr_compress_pair);
}

static void encode_topk(const struct hr_compress *c, size_t n, const float *x, float *error,
                        void *packet)
{
    struct hr_compress_pair *out = packet;
    const size_t k = hr_compress_largest(c, n);
    for (size_t i = 0; i < n; i++)
        error[i] = hr_compress_due(x[i], error[i]);
    if (!k)
        return;
    const struct threshold least = find_threshold(error, n, k);
    size_t equal = least.equal, taken = 0;
    for (size_t i = 0; taken < k; i++) {
        const uint32_t size = hr_float_size(error[i]);
        if (size < least.size || (size == least.size && !equal))
            continue;
        equal -= size == least.size;
        out[taken++] = (struct hr_compress_pair){(uint32_t)i, error[i]};
        error[i] = 0;
    }
}

static void decode_topk(const struct hr_compress *c, size_t n, const void *packet, float *x)
{
    const struct hr_compress_pair *in = packet;
    const size_t k = hr_compress_largest(c, n);
    memset(x, 0, n * sizeof *x);
    for (size_t i = 0; i < k; i++)
        x[in[i].index] = in[i].value;
}

static const struct hr_compressor topk = {
    .name = "topk",
    .example = "topk:1%",
    .take = take_percent,
    .bytes = topk_bytes,
    .encode = encode_topk,
    .decode = decode_topk,
};

/* === by name, from the text of --compress === */

/* A new one is a section here, or a file as powersgd's, and a name in the list. */
static const struct hr_compressor *const compressors[] = {&bf16, &fp16, &int8, &topk,
                                                          &hr_compressor_powersgd};

enum { NCOMPRESSORS = sizeof compressors / sizeof *compressors };

const struct hr_compressor *hr_compressor_at(size_t i)
{
    return i < NCOMPRESSORS ? compressors[i] : NULL;
}

static enum hr_status refuse(const char *text)
{
    char known[128] = "";
    for (size_t i = 0; i < NCOMPRESSORS; i++) {
        const size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", compressors[i]->example);
    }
    return hr_fail(HR_E_USAGE,
                   "--compress %s: expected one of %s (of topk more than 0 to 100%%, of powersgd 1 "
                   "to %d)",
                   text, known, HR_COMPRESS_MAX_RANK);
}

enum hr_status hr_compress_parse(const char *text, struct hr_compress *out)
{
    const size_t length = strcspn(text, ":");
    *out = (struct hr_compress){0};
    if (!text[0])
        return HR_OK;
    for (size_t i = 0; i < NCOMPRESSORS; i++) {
        const struct hr_compressor *how = compressors[i];
        if (strlen(how->name) != length || strncmp(text, how->name, length) != 0)
            continue;
        const bool good =
            how->take ? text[length] && how->take(text + length + 1, out) : !text[length];
        if (!good)
            return refuse(text);
        out->how = how;
        return HR_OK;
    }
    return refuse(text);
}
