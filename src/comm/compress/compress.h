/* compress.h - gradients made smaller before they travel: what each compressor sends, and what it
 * keeps for later.
 *
 *     struct hr_compress c;
 *     HR_TRY(hr_compress_parse("topk:1%", &c));
 *     c.how->encode(&c, n, x, error, packet);       packet: c.how->bytes(&c, n) bytes
 *     c.how->decode(&c, n, packet, out);
 *
 *   Error     what is not sent is not lost: encode sends v = x + error, and leaves in `error` what
 *             the receiver lacks of it, v - decoded. So the sum of what was sent and the error is
 *             the sum of what was to be sent, to the rounding of those two additions (error
 *             feedback: Karimireddy et al., "Error Feedback Fixes SignSGD and other Gradient
 *             Compression Schemes", arXiv 1901.09847, without the rate in it: errors are kept in
 *             gradients' own units, so that any update rule can stand behind).
 *   bf16      2 bytes a value: kernels/bf16.h's rounding, to the nearest, ties to even.
 *   fp16      2 bytes a value: IEEE 754 binary16, to the nearest, ties to even, denormals as well.
 *   int8      a byte a value, and 4 bytes for each HR_COMPRESS_BLOCK of them: scale = largest
 *             magnitude of the block / 127; value = scale times (v / scale, to the nearest whole
 *             number, ties to even).
 *   topk:P%   8 bytes (index, value) for each of the k = ceil(P n / 100), at least 1, largest in
 *             magnitude of the *whole* vector, not of each tensor: so k is one exact number,
 *             whatever the layers. Of equal ones the lowest index first. They are sent as they are;
 *             the error of all others is all of them. As Lin et al., "Deep Gradient Compression",
 *             arXiv 1712.01887, but without its momentum correction, masking and warm-up: these
 *             need the update rule at the sender, and here that is whichever the user chose, once,
 *             behind the sum. 1901.09847 shows that plain error feedback converges.
 *   powersgd:R  no packets: factors of matrices, summed (powersgd.h).
 *   Blocks    of bf16, fp16 and int8 a packet is one block behind the other, so a vector may be
 *             cut where blocks end, and its parts have the same bytes. `block_bytes` each; the last
 *             may be shorter. Zero bytes decode to zeros.
 *   Edges     denormal floats, given or made, are zeros of their sign, so the thread's mode (FTZ)
 *             changes no bit. A finite value too large for a format is sent as the largest it has,
 *             and the error keeps the rest. Infinities and NaN are sent as such (int8: the whole
 *             block is NaN), and leave no error; topk: NaN is larger than infinity is larger than
 *             all else.
 *   Bits      one copy of plain C, no sum whose order could change: the same on every machine.
 *   Grammar   bf16 | fp16 | int8 | topk:P% (0 < P <= 100) | powersgd:R (1 to 64)
 *
 * Threads: pure functions on the caller's memory.     Test: tests/unit/compress/test_compress.c
 */
#ifndef HR_COMPRESS_COMPRESS_H
#define HR_COMPRESS_COMPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum {
    HR_COMPRESS_BLOCK = 256, /* values */
    HR_COMPRESS_MAX_RANK = 64,
};

struct hr_compressor;

/* What was asked for. */
struct hr_compress {
    const struct hr_compressor *how; /* NULL: nothing is compressed */
    double percent;                  /* topk: of all values */
    size_t rank;                     /* powersgd */
};

struct hr_compressor {
    const char *name, *example; /* as one writes it: "topk", "topk:1%" */
    /* The text behind the colon; false: it is none of its values. NULL: there is no colon. */
    bool (*take)(const char *text, struct hr_compress *to);
    size_t block_bytes; /* of HR_COMPRESS_BLOCK values; 0: it has no blocks */
    /* Of n values, exactly. powersgd has none of these three. */
    size_t (*bytes)(const struct hr_compress *c, size_t n);
    /* x (n) in; error (n) in and out; packet (bytes) out, aligned to 4. */
    void (*encode)(const struct hr_compress *c, size_t n, const float *x, float *error,
                   void *packet);
    /* x (n) out: all of it. */
    void (*decode)(const struct hr_compress *c, size_t n, const void *packet, float *x);
};

/* "": none. HR_E_USAGE lists what there is. */
HR_CHECKED enum hr_status hr_compress_parse(const char *text, struct hr_compress *out);
/* The i-th compressor, NULL past the end. */
const struct hr_compressor *hr_compressor_at(size_t i);

/* Values of a packet of topk: pairs in ascending order of index. */
struct hr_compress_pair {
    uint32_t index;
    float value;
};
size_t hr_compress_largest(const struct hr_compress *c, size_t n); /* how many */
/* Of k pairs, those with an index below `end`. */
size_t hr_compress_pairs_before(const struct hr_compress_pair *pair, size_t k, size_t end);

static inline bool hr_compress_is_sparse(const struct hr_compress *c)
{
    return c->how && c->percent > 0;
}

static inline bool hr_compress_is_factors(const struct hr_compress *c)
{
    return c->how && c->rank > 0;
}

extern const struct hr_compressor hr_compressor_powersgd; /* powersgd.c */

#endif
