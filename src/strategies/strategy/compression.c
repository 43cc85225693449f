#include "strategy/compression.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/vec.h"
#include "strategy/shared.h"

/* --- of a run --- */

static size_t count_of(const struct hr_optimizer *optimizer, enum hr_segment_role role)
{
    size_t count = 0;
    for (size_t i = 0; i < optimizer->nsegments; i++)
        count += optimizer->segments[i].role == role ? optimizer->segments[i].count : 0;
    return count;
}

enum hr_status hr_compression_begin(struct hr_shared_state *shared, struct hr_compression *out)
{
    const struct hr_optimizer *optimizer = &shared->optimizer;
    const struct hr_train_options *o = shared->options;
    *out = (struct hr_compression){0};
    HR_TRY(hr_compress_parse(o->compress, &out->how));
    if (!out->how.how)
        return HR_OK;
    if (shared->params > UINT32_MAX)
        return hr_fail(HR_E_USAGE,
                       "--compress %s: not with so many parameters: an index has 32 bits",
                       o->compress);
    shared->compression = out;
    if (hr_compress_is_factors(&out->how)) {
        out->count = optimizer->params;
        return hr_factors_begin(&out->factors, out->how.rank, optimizer->nsegments, o->seed);
    }
    out->count = count_of(optimizer, HR_SEGMENT_TRAINED);
    out->exact = count_of(optimizer, HR_SEGMENT_STATISTIC);
    out->gathered = out->count < optimizer->params;
    shared->group_options.blocks =
        !hr_strategy_is_served(shared->strategy) && !hr_compression_is_public(shared);
    return HR_OK;
}

void hr_compression_fini(struct hr_compression *compression)
{
    hr_factors_fini(&compression->factors);
    *compression = (struct hr_compression){0};
}

size_t hr_compression_own_blocks(const struct hr_shared_state *shared)
{
    const struct hr_compression *c = hr_compression_of(shared);
    const size_t blocks = (c->count + HR_COMPRESS_BLOCK - 1) / HR_COMPRESS_BLOCK;
    return (blocks + shared->workers - 1) / shared->workers;
}

static size_t more_floats(const struct hr_shared_state *shared)
{
    const struct hr_compression *c = hr_compression_of(shared);
    if (hr_compress_is_factors(&c->how))
        return c->factors.q_floats;
    if (hr_compression_is_public(shared))
        return c->exact;
    return c->how.how->block_bytes && !hr_strategy_is_served(shared->strategy)
               ? hr_compression_own_blocks(shared) * HR_COMPRESS_BLOCK
               : 0;
}

size_t hr_compression_state_floats(const struct hr_shared_state *shared)
{
    const struct hr_compression *c = hr_compression_of(shared);
    return c ? c->count + more_floats(shared) : 0;
}

static size_t vector_floats(const struct hr_compression *c)
{
    return c->gathered ? c->count : 0;
}

static size_t packet_bytes(const struct hr_shared_state *shared)
{
    const struct hr_compression *c = hr_compression_of(shared);
    return hr_strategy_is_served(shared->strategy) ? c->how.how->bytes(&c->how, c->count) : 0;
}

size_t hr_compression_worker_bytes(const struct hr_shared_state *shared)
{
    const struct hr_compression *c = hr_compression_of(shared);
    if (!c || hr_compression_is_public(shared))
        return 0; /* public copies lie where neighbours read them */
    return (hr_compression_state_floats(shared) + vector_floats(c)) * sizeof(float) +
           packet_bytes(shared);
}

/* --- of a worker --- */

static float *snapshot_of(const struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    float *errors = shared->snapshot.errors;
    return errors ? errors + worker->rank * hr_compression_state_floats(shared) : NULL;
}

enum hr_status hr_compression_start(struct hr_worker *worker)
{
    const struct hr_shared_state *shared = worker->shared;
    const struct hr_compression *c = hr_compression_of(shared);
    const size_t floats = hr_compression_state_floats(shared);
    worker->compressing = NULL;
    if (!c)
        return HR_OK;
    struct hr_compressing *own =
        calloc(1, hr_round_up(sizeof *own, HR_LINE) + hr_compression_worker_bytes(shared));
    if (!own)
        return hr_fail(HR_E_NOMEM, "no memory for what %s keeps of a gradient", c->how.how->name);
    worker->compressing = own;
    if (hr_compression_is_public(shared))
        return HR_OK;
    own->state = (float *)(void *)((unsigned char *)own + hr_round_up(sizeof *own, HR_LINE));
    own->error = own->state;
    own->more = own->state + c->count;
    own->vector = c->gathered ? own->state + floats : NULL;
    own->packet = packet_bytes(shared) ? own->state + floats + vector_floats(c) : NULL;
    if (snapshot_of(worker))
        memcpy(own->state, snapshot_of(worker), floats * sizeof(float));
    return HR_OK;
}

void hr_compression_stop(struct hr_worker *worker)
{
    free(worker->compressing);
    worker->compressing = NULL;
}

void hr_compression_export(const struct hr_worker *worker)
{
    if (worker->compressing && snapshot_of(worker))
        memcpy(snapshot_of(worker), worker->compressing->state,
               hr_compression_state_floats(worker->shared) * sizeof(float));
}

/* --- tensors --- */

/* Tensors of that role, end to end. */
static void take(const struct hr_shared_state *shared, enum hr_segment_role role, const float *x,
                 float *vector)
{
    const struct hr_optimizer *optimizer = &shared->optimizer;
    for (size_t i = 0; i < optimizer->nsegments; i++) {
        const struct hr_param_segment *segment = &optimizer->segments[i];
        if (segment->role != role)
            continue;
        memcpy(vector, x + segment->begin, segment->count * sizeof *x);
        vector += segment->count;
    }
}

static void put(const struct hr_shared_state *shared, enum hr_segment_role role, float *x,
                const float *vector)
{
    const struct hr_optimizer *optimizer = &shared->optimizer;
    for (size_t i = 0; i < optimizer->nsegments; i++) {
        const struct hr_param_segment *segment = &optimizer->segments[i];
        if (segment->role != role)
            continue;
        memcpy(x + segment->begin, vector, segment->count * sizeof *x);
        vector += segment->count;
    }
}

void hr_compression_take(const struct hr_shared_state *shared, const float *x, float *values)
{
    take(shared, HR_SEGMENT_TRAINED, x, values);
    take(shared, HR_SEGMENT_STATISTIC, x, values + hr_compression_of(shared)->count);
}

float *hr_compression_vector(const struct hr_worker *worker)
{
    float *vector = worker->compressing->vector;
    return vector ? vector : worker->grads;
}

float *hr_compression_gather(const struct hr_worker *worker)
{
    if (worker->compressing->vector)
        take(worker->shared, HR_SEGMENT_TRAINED, worker->grads, worker->compressing->vector);
    return hr_compression_vector(worker);
}

void hr_compression_scatter(const struct hr_worker *worker)
{
    if (worker->compressing->vector)
        put(worker->shared, HR_SEGMENT_TRAINED, worker->grads, worker->compressing->vector);
}

void hr_compression_take_exact(const struct hr_worker *worker, float *exact)
{
    take(worker->shared, HR_SEGMENT_STATISTIC, worker->grads, exact);
}

void hr_compression_put_exact(const struct hr_worker *worker, const float *exact)
{
    put(worker->shared, HR_SEGMENT_STATISTIC, worker->grads, exact);
}

void hr_compression_scale(const struct hr_shared_state *shared, uint64_t index, bool back,
                          float *error, size_t n)
{
    const uint64_t full = shared->schedule.batch;
    const uint64_t count = hr_batch_schedule_batch(&shared->schedule, index).count;
    const double share = (double)count / (double)full;
    if (count != full)
        hr_vec()->scale(error, (float)(back ? 1 / share : share), n);
}

/* --- a push --- */

void hr_compression_push(const struct hr_worker *worker, uint64_t index)
{
    const struct hr_shared_state *shared = worker->shared;
    const struct hr_compression *c = hr_compression_of(shared);
    const struct hr_compressing *own = worker->compressing;
    if (!own)
        return;
    const enum hr_activity was = hr_account_turn(&worker->stats->account, HR_COMPUTE);
    float *vector = hr_compression_gather(worker);
    hr_compression_scale(shared, index, false, own->error, c->count);
    c->how.how->encode(&c->how, c->count, vector, own->error, own->packet);
    c->how.how->decode(&c->how, c->count, own->packet, vector);
    hr_compression_scale(shared, index, true, own->error, c->count);
    hr_compression_scatter(worker);
    hr_account_turn(&worker->stats->account, was);
}

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
        bytes +=
            hr_push_slice_most(shared, hr_slice_begin(shared, s), hr_slice_begin(shared, s + 1));
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
