#include "strategies/compressed_sum.h"

#include <string.h>

#include "base/clock.h"
#include "base/size.h"
#include "base/vec.h"
#include "group/group.h"
#include "strategy/compression.h"

enum { LOOK_NS = 20 * 1000 }; /* when to look again at an operation that rings another bell */
enum { NOTHING, TO_OWNERS, FROM_OWNERS, GATHER, LEFT, RIGHT, EXACT };
enum { WORD = sizeof(uint32_t) };

/* --- memory: [common packets], and for each worker [packets | received | exact] --- */

/* Bytes: of all workers together, and of each. */
struct room {
    size_t common, packets, received, exact;
};

/* A packet of topk. */
static size_t pairs_bytes(const struct hr_compression *c)
{
    return c->how.how->bytes(&c->how, c->count);
}

static size_t own_bytes(const struct hr_shared_state *shared)
{
    return hr_compression_own_blocks(shared) * hr_compression_of(shared)->how.how->block_bytes;
}

/* Ranks that one thread plays gather pairs in one place. */
static struct room room_of(const struct hr_shared_state *shared)
{
    const struct hr_compression *c = hr_compression_of(shared);
    struct room room = {.exact = c->exact * sizeof(float)};
    if (hr_compress_is_factors(&c->how)) {
        room.packets = c->factors.p_floats * sizeof(float);
        room.received = c->factors.q_floats * sizeof(float);
    } else if (hr_compress_is_sparse(&c->how)) {
        *(shared->local ? &room.common : &room.packets) = shared->workers * pairs_bytes(c);
    } else {
        room.packets = room.received = shared->workers * own_bytes(shared);
    }
    room.common = hr_round_up(room.common, HR_LINE);
    room.packets = hr_round_up(room.packets, HR_LINE);
    room.received = hr_round_up(room.received, HR_LINE);
    room.exact = hr_round_up(room.exact, HR_LINE);
    return room;
}

static size_t room_bytes(const struct room *room)
{
    return room->packets + room->received + room->exact;
}

size_t hr_compressed_sum_bytes(const struct hr_shared_state *shared)
{
    if (!hr_compression_of(shared))
        return 0;
    const struct room room = room_of(shared);
    return room.common + shared->workers * room_bytes(&room);
}

/* That a rank sends for a sum of floats. */
static enum hr_status sum_bytes(const struct hr_shared_state *shared, size_t rank, size_t floats,
                                uint64_t *bytes)
{
    const struct hr_group_options *o = &shared->group_options;
    struct hr_choice choice = {.algorithm = o->algorithm, .group_size = o->group_size};
    if (hr_shared_is_multinode(shared))
        choice = hr_choose_multinode(o, HR_OP_ALL_REDUCE, floats * sizeof(float));
    const struct hr_plan_for of = {.rank = rank,
                                   .n = shared->workers,
                                   .group_size = choice.group_size,
                                   .upper = choice.upper,
                                   .in_place = true};
    return hr_algorithm_sends(choice.algorithm, &of, floats, bytes);
}

enum hr_status hr_compressed_sum_begin(struct hr_compressed_sum *sum, struct hr_worker *worker,
                                       void *memory)
{
    const struct hr_shared_state *shared = worker->shared;
    *sum = (struct hr_compressed_sum){.worker = worker, .memory = memory};
    return hr_compression_of(shared) ? sum_bytes(shared, worker->rank, shared->params, &sum->plain)
                                     : HR_OK;
}

enum hr_status hr_compressed_step_bytes(const struct hr_shared_state *shared, uint64_t *bytes,
                                        uint64_t *plain)
{
    const struct hr_compression *c = hr_compression_of(shared);
    const size_t others = shared->workers - 1;
    uint64_t first = 0, second = 0;
    *bytes = hr_push_bytes(shared);
    *plain = shared->params * sizeof(float);
    if (hr_strategy_is_served(shared->strategy))
        return HR_OK;
    HR_TRY(sum_bytes(shared, 0, shared->params, plain));
    if (hr_compress_is_factors(&c->how)) {
        HR_TRY(sum_bytes(shared, 0, c->factors.p_floats, &first));
        HR_TRY(sum_bytes(shared, 0, c->factors.q_floats, &second));
    } else {
        first = others * (hr_compress_is_sparse(&c->how) ? pairs_bytes(c) : 2 * own_bytes(shared));
        HR_TRY(sum_bytes(shared, 0, c->exact, &second));
    }
    *bytes = first + second;
    return HR_OK;
}

/* Where the parts of this worker's room lie. */
struct place {
    unsigned char *packets, *received;
    float *exact;
};

static struct place place_of(const struct hr_compressed_sum *sum)
{
    const struct hr_worker *worker = sum->worker;
    const struct room room = room_of(worker->shared);
    unsigned char *own =
        (unsigned char *)sum->memory + room.common + worker->rank * room_bytes(&room);
    return (struct place){.packets = room.common ? sum->memory : own,
                          .received = own + room.packets,
                          .exact = (float *)(void *)(own + room.packets + room.received)};
}

/* --- what ranks compute between operations --- */

/* What T(n) adds: a part of what rank `rank` sent, decoded. */
typedef void (*decode_fn)(const void *arg, size_t rank, float *out);

enum { PART = 1024, BLOCK = HR_COMPRESS_BLOCK }; /* values that are added at a time */

/* out (count) = T(n) over ranks [first, first + n). */
static void add_in_tree(decode_fn decode, const void *arg, size_t first, size_t n, size_t count,
                        float *out)
{
    float right[PART];
    size_t left = 1;
    if (n == 1) {
        decode(arg, first, out);
        return;
    }
    while (2 * left < n)
        left *= 2;
    add_in_tree(decode, arg, first, left, count, out);
    add_in_tree(decode, arg, first + left, n - left, count, right);
    hr_vec()->add(out, right, count);
}

/* A block of what every rank sent to its owner. */
struct received {
    const struct hr_compress *how;
    const unsigned char *of_rank_0;
    size_t stride; /* from rank to rank */
};

static void decode_received(const void *arg, size_t rank, float *out)
{
    const struct received *in = arg;
    in->how->how->decode(in->how, BLOCK, in->of_rank_0 + rank * in->stride, out);
}

/* The blocks that this rank owns: decoded, added in T(n), encoded into its part of `packets`. */
static void sum_own(const struct hr_compressed_sum *sum, const struct place *place)
{
    const struct hr_worker *worker = sum->worker;
    const struct hr_shared_state *shared = worker->shared;
    const struct hr_compression *c = hr_compression_of(shared);
    const size_t blocks = hr_compression_own_blocks(shared), size = c->how.how->block_bytes;
    unsigned char *own = place->packets + worker->group_rank * own_bytes(shared);
    float *error = worker->compressing->more, part[BLOCK];
    hr_compression_scale(shared, sum->index, false, error, blocks * BLOCK);
    for (size_t b = 0; b < blocks; b++) {
        const struct received in = {&c->how, place->received + b * size, own_bytes(shared)};
        add_in_tree(decode_received, &in, 0, shared->workers, BLOCK, part);
        c->how.how->encode(&c->how, BLOCK, part, error + b * BLOCK, own + b * size);
    }
    hr_compression_scale(shared, sum->index, true, error, blocks * BLOCK);
}

static void decode_sums(const struct hr_compressed_sum *sum, const struct place *place)
{
    const struct hr_compression *c = hr_compression_of(sum->worker->shared);
    float *vector = hr_compression_vector(sum->worker);
    c->how.how->decode(&c->how, c->count, place->packets, vector);
    hr_compression_scatter(sum->worker);
}

/* A part of what every rank gathered. */
struct gathered {
    const struct hr_compression *compression;
    const unsigned char *packets;
    size_t begin, count; /* values */
};

static void decode_gathered(const void *arg, size_t rank, float *out)
{
    const struct gathered *in = arg;
    const struct hr_compression *c = in->compression;
    const struct hr_compress_pair *pairs = (const void *)(in->packets + rank * pairs_bytes(c));
    const size_t k = hr_compress_largest(&c->how, c->count);
    memset(out, 0, in->count * sizeof *out);
    for (size_t i = hr_compress_pairs_before(pairs, k, in->begin);
         i < k && pairs[i].index < in->begin + in->count; i++)
        out[pairs[i].index - in->begin] = pairs[i].value;
}

static void sum_gathered(const struct hr_compressed_sum *sum, const struct place *place)
{
    const struct hr_compression *c = hr_compression_of(sum->worker->shared);
    float *vector = hr_compression_vector(sum->worker);
    struct gathered in = {.compression = c, .packets = place->packets};
    for (; in.begin < c->count; in.begin += PART) {
        in.count = hr_min_size(PART, c->count - in.begin);
        add_in_tree(decode_gathered, &in, 0, sum->worker->shared->workers, in.count,
                    vector + in.begin);
    }
    hr_compression_scatter(sum->worker);
}

static float *floats(unsigned char *memory)
{
    return (float *)(void *)memory;
}

static void finish_factors(const struct hr_compressed_sum *sum, const struct place *place)
{
    const struct hr_worker *worker = sum->worker;
    const struct hr_shared_state *shared = worker->shared;
    const struct hr_compression *c = hr_compression_of(shared);
    hr_factors_finish(&c->factors, floats(place->packets), floats(place->received), shared->workers,
                      worker->grads, worker->compressing->error);
    memcpy(worker->compressing->more, place->received, c->factors.q_floats * sizeof(float));
    hr_compression_scale(shared, sum->index, true, worker->compressing->error, c->count);
}

/* --- phases --- */

static void begin(struct hr_compressed_sum *sum, unsigned phase, const struct place *place)
{
    struct hr_worker *worker = sum->worker;
    struct hr_member *member = &worker->member;
    const struct hr_shared_state *shared = worker->shared;
    const struct hr_compression *c = hr_compression_of(shared);
    uint32_t *packets = (void *)place->packets, *received = (void *)place->received;
    const size_t words =
        (hr_compress_is_sparse(&c->how) ? pairs_bytes(c) : own_bytes(shared)) / WORD;
    sum->phase = phase;
    if (phase == TO_OWNERS)
        hr_member_all_to_all_start(member, packets, received, words);
    else if (phase == FROM_OWNERS || phase == GATHER)
        hr_member_all_gather_start(member, packets + worker->group_rank * words, packets, words);
    else if (phase == LEFT)
        hr_member_all_reduce_start(member, floats(place->packets), 0, c->factors.p_floats);
    else if (phase == RIGHT)
        hr_member_all_reduce_start(member, floats(place->received), 0, c->factors.q_floats);
    else if (phase == EXACT)
        hr_member_all_reduce_start(member, place->exact, 0, c->exact);
    if (phase && !sum->bell)
        sum->bell = hr_member_bell(member);
}

/* The vector is summed: what is exact is left, if anything. */
static unsigned last_phase(const struct hr_compressed_sum *sum, const struct place *place)
{
    if (!hr_compression_of(sum->worker->shared)->exact)
        return NOTHING;
    hr_compression_take_exact(sum->worker, place->exact);
    return EXACT;
}

/* An operation has ended: compute, and say which is next. */
static unsigned compute(const struct hr_compressed_sum *sum, const struct place *place)
{
    const struct hr_worker *worker = sum->worker;
    const struct hr_compression *c = hr_compression_of(worker->shared);
    switch (sum->phase) {
    case TO_OWNERS:
        sum_own(sum, place);
        return FROM_OWNERS;
    case FROM_OWNERS:
        decode_sums(sum, place);
        return last_phase(sum, place);
    case GATHER:
        sum_gathered(sum, place);
        return last_phase(sum, place);
    case LEFT:
        hr_factors_orthogonalise(&c->factors, floats(place->packets));
        hr_factors_right(&c->factors, worker->compressing->error, floats(place->packets),
                         floats(place->received));
        if (c->factors.q_floats)
            return RIGHT;
        finish_factors(sum, place);
        return NOTHING;
    case RIGHT:
        finish_factors(sum, place);
        return NOTHING;
    default:
        hr_compression_put_exact(worker, place->exact);
        return NOTHING;
    }
}

/* Encode the gradient; what is sent first. */
static unsigned encode(const struct hr_compressed_sum *sum, const struct place *place)
{
    struct hr_worker *worker = sum->worker;
    const struct hr_shared_state *shared = worker->shared;
    const struct hr_compression *c = hr_compression_of(shared);
    struct hr_compressing *own = worker->compressing;
    hr_compression_scale(shared, sum->index, false, own->error, c->count);
    if (hr_compress_is_factors(&c->how)) { /* its error is due until the end */
        hr_factors_left(&c->factors, worker->grads, own->error, own->more, floats(place->packets));
        return LEFT;
    }
    const bool sparse = hr_compress_is_sparse(&c->how);
    const size_t at = sparse ? worker->group_rank * pairs_bytes(c) : 0;
    c->how.how->encode(&c->how, c->count, hr_compression_gather(worker), own->error,
                       place->packets + at);
    hr_compression_scale(shared, sum->index, true, own->error, c->count);
    return sparse ? GATHER : TO_OWNERS;
}

void hr_compressed_sum_start(struct hr_compressed_sum *sum, uint64_t index)
{
    const struct hr_worker *worker = sum->worker;
    const enum hr_activity was = hr_account_turn(&worker->stats->account, HR_COMPUTE);
    const struct place place = place_of(sum);
    sum->index = index;
    sum->status = HR_OK;
    sum->bell = NULL;
    worker->stats->bytes_plain += sum->plain;
    const unsigned first = encode(sum, &place);
    hr_account_turn(&worker->stats->account, was);
    begin(sum, first, &place);
}

bool hr_compressed_sum_test(struct hr_compressed_sum *sum)
{
    struct hr_worker *worker = sum->worker;
    const struct place place = place_of(sum);
    while (sum->phase && sum->status == HR_OK) {
        if (!hr_member_test(&worker->member)) {
            if (worker->member.place.waiter && hr_member_bell(&worker->member) != sum->bell)
                worker->member.place.waiter->alarm_ns = hr_clock_ns() + LOOK_NS;
            return false;
        }
        sum->status = hr_member_finish(&worker->member);
        if (sum->status != HR_OK)
            return true;
        const enum hr_activity was = hr_account_turn(&worker->stats->account, HR_COMPUTE);
        const unsigned next = compute(sum, &place);
        hr_account_turn(&worker->stats->account, was);
        begin(sum, next, &place);
    }
    return true;
}
