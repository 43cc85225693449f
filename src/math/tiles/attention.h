/* attention.h - causal attention of one head of one sample, in memory that grows with its length,
 * not with the square of it.
 *
 *     s (queries,keys) = scale q k^T     p = softmax of each row over the keys that it sees
 *     o (queries,d) = p v
 *
 * Queries are the last of the keys' positions: query i sees keys 0 .. keys - queries + i. So fewer
 * queries than keys go on where others, whose keys and values were kept, have ended.
 *
 * A few rows of s at a time are made whole in scratch memory, are turned into p, and are multiplied
 * with v. Backward makes them again, from the logarithms that forward left, as do Dao et al.,
 * "FlashAttention" (arXiv:2205.14135), whose blocks of keys with a running largest number and sum
 * suit processors with less memory of their own. Blocks of keys that no query of a tile sees are
 * left out.
 *
 *     backward: D = sum over d of do o     ds = p (do v^T - D) scale
 *               dq = ds k      dk = ds^T q      dv = p^T do
 *
 * Order: products are chains of fused multiply-adds as in block.h: s over d, o and dq over the keys
 * from the first, dk and dv over the queries from the first that sees the key. A row's sum of
 * exponentials, and D, have sixteen parts (kernels/simd_sums.h). So the bits are those of shapes
 * and values, v3 and v4 agree, and a query's do not depend on how many there are beside it; but
 * for the sign of a zero, and where a key that it does not see has an infinity or NaN in v, which
 * may come to it as NaN. Exponentials are off by 2e-7, no less than 2^-125.
 *
 * Measured on one of two processors (Sapphire Rapids, AVX-512) beside others' work, against the
 * flash kernel of PyTorch 2.15 on one thread; milliseconds of processor time, forward and both,
 * the least of many rounds, and both as a share of the register tile out of L1:
 *     samples, length, heads x width    ours             PyTorch           share    AVX2
 *     8, 128, 4 x 16                    0.23   0.70      0.61    2.1       0.42     0.30   0.92
 *     8, 128, 6 x 64                    1.06   3.85      2.3    10.3       0.45     1.6    5.5
 *     8, 256, 6 x 64                    4.0   15.4       9.1    38.7       0.45     6.0   21.3
 *     1, 1024, 6 x 64                   6.7   26.3      13.0    48.9       0.52     9.7   37.5
 *     1, 4096, 1 x 64                  20.0   80.4      22.0    71.5       0.45    26.8  100
 *
 * Threads: pure functions on the caller's memory; heads may be shared out.
 * Test: tests/unit/tiles/test_attention.c
 */
#ifndef HR_TILES_ATTENTION_H
#define HR_TILES_ATTENTION_H

#include <stddef.h>

#include "base/isa.h"
#include "kernels/select.h"

struct hr_attention_head {
    size_t queries, keys; /* 1 <= queries <= keys */
    size_t width;         /* d, at least 1 */
    const float *q, *k, *v;
    size_t q_row, kv_row; /* floats from one position to the next, of q; of k and v */
    float scale;          /* 1 / sqrt(d); above 0 */
    float *o;             /* (queries,d), rows o_row apart; out, and in for backward */
    size_t o_row;
    float *log_sums; /* (queries) out, and in for backward: log2 of the sum of e^s; may be NULL */
    void *scratch;   /* hr_attention_scratch_bytes(keys, d), 64-byte aligned */
};

/* Gradients in rows like those of what they belong to, overwritten. */
struct hr_attention_gradients {
    const float *d_o;
    float *dq, *dk, *dv;
};

struct hr_attention {
    void (*forward)(const struct hr_attention_head *head);

    /* After forward; queries == keys. */
    void (*backward)(const struct hr_attention_head *head,
                     const struct hr_attention_gradients *gradients);

    /* For both. */
    size_t (*scratch_bytes)(size_t keys, size_t width);
};

HR_ISA_DECLARE(struct hr_attention, hr_attention);

/* The copy in use, as hr_tiles (micro.h). */
static inline const struct hr_attention *hr_attention(void)
{
    return hr_kernels_are_reference() ? &hr_attention_plain : HR_ISA_PICK(hr_attention);
}

static inline size_t hr_attention_scratch_bytes(size_t keys, size_t width)
{
    return hr_attention()->scratch_bytes(keys, width);
}

#endif
