/* The largest values, and where they are.
 *
 *   How      a value's magnitude is its bits without the sign, which order as magnitudes do. The
 *            k-th largest is found digit by digit: how many values have each first digit; those of
 *            the digit that the k-th is in, by their second; and so on: three passes. Then one pass
 *            takes all that are larger, and as many of those that are equal as there is room for,
 *            in order of index.
 *   Cost     4 passes over n values, no memory.
 */
#include <math.h>
#include <string.h>

#include "base/parse.h"
#include "base/size.h"
#include "compress/compressors.h"
#include "compress/round.h"

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

static bool take(const char *text, struct hr_compress *to)
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

static size_t bytes(const struct hr_compress *c, size_t n)
{
    return hr_compress_largest(c, n) * sizeof(struct hr_compress_pair);
}

static void encode(const struct hr_compress *c, size_t n, const float *x, float *error,
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

static void decode(const struct hr_compress *c, size_t n, const void *packet, float *x)
{
    const struct hr_compress_pair *in = packet;
    const size_t k = hr_compress_largest(c, n);
    memset(x, 0, n * sizeof *x);
    for (size_t i = 0; i < k; i++)
        x[in[i].index] = in[i].value;
}

const struct hr_compressor hr_compressor_topk = {
    .name = "topk",
    .example = "topk:1%",
    .take = take,
    .bytes = bytes,
    .encode = encode,
    .decode = decode,
};
