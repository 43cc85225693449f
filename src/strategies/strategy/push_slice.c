#include "strategy/push_slice.h"

#include <string.h>

#include "base/size.h"
#include "strategy/shared.h"

enum { BLOCK = HR_COMPRESS_BLOCK };

/* How many values of a role lie before parameter `at`. */
static size_t before(const struct hr_optimizer *optimizer, enum hr_segment_role role, size_t at)
{
    size_t count = 0;
    for (size_t i = 0; i < optimizer->nsegments; i++) {
        const struct hr_param_segment *segment = &optimizer->segments[i];
        if (segment->role == role && segment->begin < at)
            count += hr_min_size(segment->count, at - segment->begin);
    }
    return count;
}

/* --- bytes --- */

/* Of a block: what stands before its values, and a value's. */
static size_t head_bytes(const struct hr_compression *c)
{
    return c->how.how->block_bytes % BLOCK;
}

static size_t value_bytes(const struct hr_compression *c)
{
    return c->how.how->block_bytes / BLOCK;
}

/* Values [begin, end) of the packet: of blocks that are cut each part has the head. */
static uint64_t part_bytes(const struct hr_compression *c, const void *packet, size_t begin,
                           size_t end)
{
    if (hr_compress_is_sparse(&c->how)) {
        const size_t k = hr_compress_largest(&c->how, c->count);
        return (hr_compress_pairs_before(packet, k, end) -
                hr_compress_pairs_before(packet, k, begin)) *
               sizeof(struct hr_compress_pair);
    }
    const size_t first = begin / BLOCK * BLOCK;
    return begin < end ? c->how.how->bytes(&c->how, end - first) - (begin - first) * value_bytes(c)
                       : 0;
}

/* The values of a slice: those that travel as they are, and where the others stand in the vector
 * that is compressed. */
struct slice {
    size_t exact, begin, end;
};

static struct slice slice_of(const struct hr_shared_state *shared, size_t begin, size_t end)
{
    const struct hr_optimizer *optimizer = &shared->optimizer;
    return (struct slice){.exact = before(optimizer, HR_SEGMENT_STATISTIC, end) -
                                   before(optimizer, HR_SEGMENT_STATISTIC, begin),
                          .begin = before(optimizer, HR_SEGMENT_TRAINED, begin),
                          .end = before(optimizer, HR_SEGMENT_TRAINED, end)};
}

uint64_t hr_push_slice_bytes(const struct hr_worker *worker, size_t begin, size_t end)
{
    const struct hr_compression *c = hr_compression_of(worker->shared);
    if (!c)
        return (end - begin) * sizeof(float);
    const struct slice slice = slice_of(worker->shared, begin, end);
    return slice.exact * sizeof(float) +
           part_bytes(c, worker->compressing->packet, slice.begin, slice.end);
}

size_t hr_push_slice_most(const struct hr_shared_state *shared, size_t begin, size_t end)
{
    const struct hr_compression *c = hr_compression_of(shared);
    const struct slice slice = slice_of(shared, begin, end);
    const size_t values = slice.end - slice.begin;
    const size_t pairs = hr_min_size(hr_compress_largest(&c->how, c->count), values);
    const size_t part = hr_compress_is_sparse(&c->how)
                            ? pairs * sizeof(struct hr_compress_pair)
                            : (size_t)part_bytes(c, NULL, slice.begin, slice.end);
    return slice.exact * sizeof(float) + part;
}

uint64_t hr_push_bytes(const struct hr_shared_state *shared)
{
    const struct hr_compression *c = hr_compression_of(shared);
    uint64_t bytes = 0;
    if (!c || !hr_strategy_is_served(shared->strategy))
        return 0;
    if (hr_compress_is_sparse(&c->how))
        return c->exact * sizeof(float) + c->how.how->bytes(&c->how, c->count);
    for (size_t s = 0; s < shared->servers; s++)
        bytes += hr_push_slice_most(shared, hr_stripe_begin(shared->params, shared->servers, s),
                                    hr_stripe_begin(shared->params, shared->servers, s + 1));
    return bytes;
}

/* --- packets --- */

/* Parameters [at, at + count) that belong together; `value`: how many of the role come before. */
struct piece {
    size_t at, count, value;
};

/* The next piece of the slice in that role, from segment *i on; false: there is none. */
static bool next_piece(const struct hr_optimizer *optimizer, enum hr_segment_role role,
                       struct hr_range slice, size_t *i, struct piece *piece)
{
    const size_t end = slice.begin + slice.count;
    for (; *i < optimizer->nsegments; ++*i) {
        const struct hr_param_segment *segment = &optimizer->segments[*i];
        const size_t from = hr_max_size(segment->begin, slice.begin);
        const size_t to = hr_min_size(segment->begin + segment->count, end);
        if (segment->role != role || from >= to)
            continue;
        ++*i;
        *piece = (struct piece){from, to - from, before(optimizer, role, from)};
        return true;
    }
    return false;
}

/* Of each block what the slice has of it. */
static void pack_blocks(const struct hr_compression *c, const unsigned char *blocks,
                        const struct slice *slice, unsigned char *part)
{
    const size_t head = head_bytes(c), each = value_bytes(c);
    for (size_t value = slice->begin; value < slice->end;) {
        const size_t skipped = value % BLOCK;
        const size_t count = hr_min_size(BLOCK - skipped, slice->end - value);
        const unsigned char *block = blocks + value / BLOCK * c->how.how->block_bytes;
        memcpy(part, block, head);
        memcpy(part + head, block + head + skipped * each, count * each);
        part += head + count * each;
        value += count;
    }
}

size_t hr_push_slice_pack(const struct hr_worker *worker, size_t begin, size_t end, void *to)
{
    const struct hr_shared_state *shared = worker->shared;
    const struct hr_compression *c = hr_compression_of(shared);
    const struct slice slice = slice_of(shared, begin, end);
    unsigned char *part = to;
    struct piece piece;
    for (size_t i = 0; next_piece(&shared->optimizer, HR_SEGMENT_STATISTIC,
                                  (struct hr_range){begin, end - begin}, &i, &piece);) {
        memcpy(part, worker->grads + piece.at, piece.count * sizeof(float));
        part += piece.count * sizeof(float);
    }
    const size_t bytes = (size_t)part_bytes(c, worker->compressing->packet, slice.begin, slice.end);
    if (hr_compress_is_sparse(&c->how)) {
        const struct hr_compress_pair *pairs = worker->compressing->packet;
        const size_t k = hr_compress_largest(&c->how, c->count);
        memcpy(part, pairs + hr_compress_pairs_before(pairs, k, slice.begin), bytes);
    } else {
        pack_blocks(c, worker->compressing->packet, &slice, part);
    }
    return (size_t)(part - (unsigned char *)to) + bytes;
}

/* A piece of the slice, out of n pairs. */
static void put_pairs(const struct hr_compress_pair *pairs, size_t n, const struct piece *piece,
                      float *grads)
{
    memset(grads + piece->at, 0, piece->count * sizeof *grads);
    for (size_t i = hr_compress_pairs_before(pairs, n, piece->value);
         i < n && pairs[i].index < piece->value + piece->count; i++)
        grads[piece->at + pairs[i].index - piece->value] = pairs[i].value;
}

/* Values [first, last) of the block that begins at `first`, as far as the slice has them. */
static void decode_block(const struct hr_compression *c, const unsigned char *part,
                         const struct slice *slice, size_t first, size_t last, float *out)
{
    uint32_t block[BLOCK]; /* room for any format's */
    const size_t head = head_bytes(c), each = value_bytes(c);
    const size_t from = hr_max_size(first, slice->begin);
    unsigned char *values = (unsigned char *)block + head + (from - first) * each;
    HR_ASSERT(c->how.how->block_bytes <= sizeof block);
    part += part_bytes(c, NULL, slice->begin, first);
    memset(block, 0, sizeof block);
    memcpy(block, part, head);
    memcpy(values, part + head, (last - from) * each);
    c->how.how->decode(&c->how, last - first, block, out);
}

/* A piece of the slice, out of the part that has its blocks. */
static void put_blocks(const struct hr_compression *c, const unsigned char *part,
                       const struct slice *slice, const struct piece *piece, float *grads)
{
    float decoded[BLOCK];
    for (size_t done = 0; done < piece->count;) {
        const size_t value = piece->value + done, first = value / BLOCK * BLOCK;
        const size_t last = hr_min_size(first + BLOCK, slice->end);
        const size_t count = hr_min_size(last - value, piece->count - done);
        decode_block(c, part, slice, first, last, decoded);
        memcpy(grads + piece->at + done, decoded + (value - first), count * sizeof *grads);
        done += count;
    }
}

void hr_push_slice_unpack(const struct hr_shared_state *shared, size_t begin, size_t end,
                          const void *packet, size_t bytes, float *grads)
{
    const struct hr_compression *c = hr_compression_of(shared);
    const struct slice slice = slice_of(shared, begin, end);
    const struct hr_range range = {begin, end - begin};
    const unsigned char *part = packet;
    struct piece piece;
    for (size_t i = 0; next_piece(&shared->optimizer, HR_SEGMENT_STATISTIC, range, &i, &piece);) {
        memcpy(grads + piece.at, part, piece.count * sizeof *grads);
        part += piece.count * sizeof *grads;
    }
    const size_t pairs = (bytes - slice.exact * sizeof(float)) / sizeof(struct hr_compress_pair);
    for (size_t i = 0; next_piece(&shared->optimizer, HR_SEGMENT_TRAINED, range, &i, &piece);) {
        if (hr_compress_is_sparse(&c->how))
            put_pairs((const void *)part, pairs, &piece, grads);
        else
            put_blocks(c, part, &slice, &piece, grads);
    }
}
