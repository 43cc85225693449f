/* Attention, compiled once for each instruction set (see base/isa.h): products of tiles (block.h)
 * between loops over the rows of a strip, QUERIES of them, of scores. */
#include "tiles/attention.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "kernels/simd_sums.h"
#include "tiles/block.h"

/* A multiple of the largest tile's rows. */
enum { QUERIES = 48, WIDTH = 2 * LANES };

/* Scores are in powers of two: exponentials cost less. */
static const float LOG2_E = 0x1.715476p0f;

/* Scratch memory, in floats. A panel is WIDTH columns side by side. */
struct room {
    size_t d, keys;         /* rounded up: of d and of keys to WIDTH */
    float *q, *d_o;         /* (QUERIES,d): of a strip, times a factor; as they are left */
    float *q_right, *right; /* the same in panels, for the right side of products */
    float *p, *ds;          /* (QUERIES,keys) */
    float *k_turned, *v_turned, *k, *v; /* panels: (d,keys) and (keys,d) */
    float *delta;                       /* (QUERIES) D times scale */
};

static float *take(float **next, size_t floats)
{
    float *taken = *next;
    if (taken)
        *next += hr_round_up(floats, SIXTEEN);
    return taken;
}

static size_t room_floats(size_t keys, size_t width)
{
    const size_t d = hr_round_up(width, WIDTH), all = hr_round_up(keys, WIDTH);
    return 4 * QUERIES * d + 2 * QUERIES * all + 4 * all * d + hr_round_up(QUERIES, SIXTEEN);
}

static struct room room_of(const struct hr_attention_head *head)
{
    const size_t d = hr_round_up(head->width, WIDTH), keys = hr_round_up(head->keys, WIDTH);
    float *next = head->scratch;
    struct room room = {.d = d, .keys = keys};
    room.q = take(&next, QUERIES * d);
    room.d_o = take(&next, QUERIES * d);
    room.q_right = take(&next, QUERIES * d);
    room.right = take(&next, QUERIES * d);
    room.p = take(&next, QUERIES * keys);
    room.ds = take(&next, QUERIES * keys);
    room.k_turned = take(&next, d * keys);
    room.v_turned = take(&next, d * keys);
    room.k = take(&next, d * keys);
    room.v = take(&next, d * keys);
    room.delta = take(&next, QUERIES);
    return room;
}

static size_t scratch_bytes(size_t keys, size_t width)
{
    return room_floats(keys, width) * sizeof(float);
}

/* --- operands --- */

/* to (rows,width), `row` apart, = from times factor. */
static void scale_rows(size_t rows, size_t width, const float *from, size_t from_row, float factor,
                       float *to, size_t row)
{
    for (size_t r = 0; r < rows; r++, from += from_row, to += row)
        for (size_t c = 0; c < width; c += LANES)
            store_part(to + c, load_part(from + c, width - c) * factor, width - c);
}

/* Rows into panels, of which the last may have been filled before. */
static void pack_rows(size_t rows, size_t width, const float *from, size_t from_row, float *to)
{
    for (size_t c = 0; c < width; c += WIDTH, to += rows * WIDTH)
        scale_rows(rows, hr_min_size(WIDTH, width - c), from + c, from_row, 1, to, WIDTH);
}

static void turn_rows(size_t rows, size_t width, const float *from, size_t from_row, float *to)
{
    for (size_t r = 0; r < rows; r += WIDTH, to += width * WIDTH)
        HR_ISA_NAME(hr_blocks).turn(width, hr_min_size(WIDTH, rows - r), from + r * from_row,
                                    from_row, to);
}

/* c (rows,columns) of one height of tiles: panels of b, each `next` behind the one before. */
static void multiply(struct hr_block tile, size_t columns, size_t next)
{
    for (size_t left = columns; left > 0; left -= tile.columns) {
        tile.columns = hr_min_size(left, WIDTH);
        HR_ISA_NAME(hr_blocks).tile(&tile);
        tile.b += next;
        tile.c += WIDTH;
    }
}

static size_t tile_rows(size_t left)
{
    return hr_min_size(HR_ISA_NAME(hr_blocks).tile_rows(left), left);
}

/* --- strips --- */

/* Queries [first, first + count) of a head. */
struct strip {
    const struct hr_attention_head *head;
    const struct room *room;
    size_t first, count;
};

/* How many keys query `i` of the strip sees. */
static inline size_t seen(const struct strip *strip, size_t i)
{
    return strip->head->keys - strip->head->queries + strip->first + i + 1;
}

/* c (strip,keys) = a (strip,d) b (d,keys), as far as keys are seen by one row of a tile. */
static void multiply_seen(const struct strip *strip, const float *a, const float *b, float *c)
{
    const struct room *room = strip->room;
    const size_t width = strip->head->width;
    for (size_t i = 0, n; i < strip->count; i += n) {
        n = tile_rows(strip->count - i);
        const struct hr_block tile = {.K = width,
                                      .a = a + i * room->d,
                                      .a_row = room->d,
                                      .a_step = 1,
                                      .b = b,
                                      .b_step = WIDTH,
                                      .rows = n,
                                      .c = c + i * room->keys,
                                      .c_row = room->keys};
        multiply(tile, hr_round_up(seen(strip, i + n - 1), WIDTH), width * WIDTH);
    }
}

/* to (strip,d) = a (strip,keys) b (keys,d): each tile as far as one of its rows sees. */
static void multiply_values(const struct strip *strip, const float *a, const float *b, float *to,
                            size_t to_row)
{
    const struct room *room = strip->room;
    for (size_t i = 0, n; i < strip->count; i += n) {
        n = tile_rows(strip->count - i);
        const struct hr_block tile = {.K = seen(strip, i + n - 1),
                                      .a = a + i * room->keys,
                                      .a_row = room->keys,
                                      .a_step = 1,
                                      .b = b,
                                      .b_step = WIDTH,
                                      .rows = n,
                                      .c = to + i * to_row,
                                      .c_row = to_row};
        multiply(tile, strip->head->width, strip->head->keys * WIDTH);
    }
}

/* to (keys,d) += the strip's part of a^T b, a (strip,keys), b (strip,d) in panels; queries == keys,
 * so that keys from the strip's first on are begun here, and none behind its last is seen. */
static void multiply_turned(const struct strip *strip, const float *a, const float *b, float *to)
{
    const struct room *room = strip->room;
    const size_t kv_row = strip->head->kv_row, keys = strip->first + strip->count;
    for (size_t j = 0, n; j < keys; j += n) {
        n = tile_rows(j < strip->first ? strip->first - j : keys - j);
        const size_t skipped = j < strip->first ? 0 : j - strip->first;
        const struct hr_block tile = {.K = strip->count - skipped,
                                      .a = a + skipped * room->keys + j,
                                      .a_row = 1,
                                      .a_step = room->keys,
                                      .b = b + skipped * WIDTH,
                                      .b_step = WIDTH,
                                      .rows = n,
                                      .c = to + j * kv_row,
                                      .c_row = kv_row,
                                      .go_on = j < strip->first};
        multiply(tile, strip->head->width, strip->count * WIDTH);
    }
}

/* --- rows of scores --- */

/* a * b + c, in one rounding where the machine has it. */
INLINE vec fused(vec a, vec b, vec c)
{
#if defined __AVX512F__
    return _mm512_fmadd_ps(a, b, c);
#elif defined __FMA__
    return _mm256_fmadd_ps(a, b, c);
#else
    return a * b + c;
#endif
}

/* 2^x for x <= 0, not less than 2^-125; NaN stays NaN. x = n + f, |f| <= 1/2; the polynomial is
 * off by 1e-7 of the value at most, and exact at 0. */
INLINE vec exp2_of(vec x)
{
    const float BIASED = 0x1.8p23f + 127; /* added, it leaves the exponent of 2^n in the low bits */
    const vec zero = {0};
    x = larger(zero - 125.0f, x);
    const vec rounded = x + BIASED, f = x - (rounded - BIASED);
    vec p = zero + 0x1.5bba37p-10f;
    p = fused(p, f, zero + 0x1.3cea87p-7f);
    p = fused(p, f, zero + 0x1.c6b753p-5f);
    p = fused(p, f, zero + 0x1.ebf9bcp-3f);
    p = fused(p, f, zero + 0x1.62e429p-1f);
    p = fused(p, f, zero + 1.0f);
    return p * (vec)((bits)rounded << 23);
}

INLINE vec first_of(vec x, size_t count)
{
    float some[2 * LANES] = {0};
    store(some + LANES, x);
    memset(some + LANES + count, 0, (LANES - count) * sizeof *some);
    return load(some + LANES);
}

/* s (count) in, 2^(s - *most) out, and zeros up to `padded`; returns their sum. */
static float exponentials(size_t count, size_t padded, float *s, float *largest)
{
    const size_t whole = count - count % SIXTEEN;
    struct sixteen most = sixteen_of(s[0]), sum = sixteen_of(0);
    for (size_t j = 0; j < whole; j += SIXTEEN)
#pragma GCC unroll 4
        for (size_t p = 0; p < PARTS; p++)
            most.part[p] = larger(load(s + j + p * LANES), most.part[p]);
    float top = largest_of(most);
    for (size_t j = whole; j < count; j++)
        top = s[j] > top ? s[j] : top;
    memset(s + count, 0, (padded - count) * sizeof *s);
    for (size_t j = 0; j < count; j += SIXTEEN)
#pragma GCC unroll 4
        for (size_t p = 0; p < PARTS; p++) {
            const size_t at = j + p * LANES;
            if (at >= count)
                break;
            vec e = exp2_of(load(s + at) - top);
            if (count - at < LANES)
                e = first_of(e, count - at);
            store(s + at, e);
            sum.part[p] += e;
        }
    *largest = top;
    return sum_of(sum);
}

static void forward_strip(const struct strip *strip)
{
    const struct hr_attention_head *head = strip->head;
    const struct room *room = strip->room;
    const size_t end = hr_round_up(seen(strip, strip->count - 1), WIDTH);
    float *o = head->o + strip->first * head->o_row, sums[QUERIES];
    scale_rows(strip->count, head->width, head->q + strip->first * head->q_row, head->q_row,
               head->scale * LOG2_E, room->q, room->d);
    multiply_seen(strip, room->q, room->k_turned, room->p);
    for (size_t i = 0; i < strip->count; i++) {
        float most;
        sums[i] = exponentials(seen(strip, i), end, room->p + i * room->keys, &most);
        if (head->log_sums)
            head->log_sums[strip->first + i] = most + log2f(sums[i]);
    }
    multiply_values(strip, room->p, room->v, o, head->o_row);
    for (size_t i = 0; i < strip->count; i++)
        scale_rows(1, head->width, o + i * head->o_row, 0, 1.0f / sums[i], o + i * head->o_row, 0);
}

static void forward(const struct hr_attention_head *head)
{
    HR_ASSERT(head->queries >= 1 && head->queries <= head->keys && head->width >= 1);
    const struct room room = room_of(head);
    memset(room.q, 0, QUERIES * room.d * sizeof *room.q);
    turn_rows(head->keys, head->width, head->k, head->kv_row, room.k_turned);
    pack_rows(head->keys, head->width, head->v, head->kv_row, room.v);
    for (size_t i = 0; i < head->queries; i += QUERIES)
        forward_strip(&(struct strip){head, &room, i, hr_min_size(QUERIES, head->queries - i)});
}

/* --- backward --- */

static float dot(size_t count, const float *a, const float *b)
{
    struct sixteen sum = sixteen_of(0);
    for (size_t c = 0; c < count; c += SIXTEEN) {
        const struct sixteen x = load_sixteen(a + c, count - c), y = load_sixteen(b + c, count - c);
#pragma GCC unroll 4
        for (size_t p = 0; p < PARTS; p++)
            sum.part[p] += x.part[p] * y.part[p];
    }
    return sum_of(sum);
}

/* p = 2^(s - log_sum), ds = p (dp - delta), and zeros up to `padded`. */
static void row_gradients(size_t count, size_t padded, float log_sum, float delta, float *s,
                          float *dp)
{
    memset(s + count, 0, (padded - count) * sizeof *s);
    memset(dp + count, 0, (padded - count) * sizeof *dp);
    for (size_t j = 0; j < count; j += LANES) {
        vec p = exp2_of(load(s + j) - log_sum), ds = p * (load(dp + j) - delta);
        if (count - j < LANES) {
            p = first_of(p, count - j);
            ds = first_of(ds, count - j);
        }
        store(s + j, p);
        store(dp + j, ds);
    }
}

static void backward_strip(const struct strip *strip, const struct hr_attention_gradients *to)
{
    const struct hr_attention_head *head = strip->head;
    const struct room *room = strip->room;
    const size_t first = strip->first, count = strip->count, width = head->width;
    const size_t end = hr_round_up(seen(strip, count - 1), WIDTH);
    const float *q = head->q + first * head->q_row, *o = head->o + first * head->o_row;
    const float *d_o = to->d_o + first * head->o_row;
    scale_rows(count, width, q, head->q_row, head->scale * LOG2_E, room->q, room->d);
    scale_rows(count, width, d_o, head->o_row, head->scale, room->d_o, room->d);
    pack_rows(count, width, q, head->q_row, room->q_right);
    pack_rows(count, width, d_o, head->o_row, room->right);
    multiply_seen(strip, room->q, room->k_turned, room->p);
    multiply_seen(strip, room->d_o, room->v_turned, room->ds);
    for (size_t i = 0; i < count; i++) {
        const float delta = dot(width, room->d_o + i * room->d, o + i * head->o_row);
        row_gradients(seen(strip, i), end, head->log_sums[first + i], delta,
                      room->p + i * room->keys, room->ds + i * room->keys);
    }
    multiply_values(strip, room->ds, room->k, to->dq + first * head->q_row, head->q_row);
    multiply_turned(strip, room->ds, room->q_right, to->dk);
    multiply_turned(strip, room->p, room->right, to->dv);
}

static void backward(const struct hr_attention_head *head,
                     const struct hr_attention_gradients *gradients)
{
    HR_ASSERT(head->queries == head->keys && head->width >= 1 && head->log_sums);
    const struct room room = room_of(head);
    memset(room.q, 0, 2 * QUERIES * room.d * sizeof *room.q);
    turn_rows(head->keys, head->width, head->k, head->kv_row, room.k_turned);
    turn_rows(head->keys, head->width, head->v, head->kv_row, room.v_turned);
    pack_rows(head->keys, head->width, head->k, head->kv_row, room.k);
    for (size_t i = 0; i < head->queries; i += QUERIES)
        backward_strip(&(struct strip){head, &room, i, hr_min_size(QUERIES, head->queries - i)},
                       gradients);
}

const struct hr_attention HR_ISA_NAME(hr_attention) = {
    .forward = forward, .backward = backward, .scratch_bytes = scratch_bytes};
