/* Attention, compiled once for each instruction set (see base/isa.h): register tiles between loops
 * over the rows of a strip of scores, a few queries by all keys, which stays in L1 where contexts
 * are short. Everything on the right of a product is packed in panels, so that tiles know where the
 * next row is. */
#include "tiles/attention.h"

#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "kernels/simd_sums.h"
#include "tiles/block.h"
#include "tiles/tile_steps.h"

/* Rows of a tile of two vectors, of one that is one vector wide, and of those at the end; queries
 * of a strip. */
#if defined __AVX512F__
enum { ROWS = 8, NARROW_ROWS = 16, FEW_ROWS = 4, QUERIES = 32 };
#else
enum { ROWS = 6, NARROW_ROWS = 6, FEW_ROWS = 4, QUERIES = 36 };
#endif
enum { WIDTH = 2 * LANES };

/* Scores are in powers of two: exponentials cost less. */
static const float LOG2_E = 0x1.715476p0f;

/* --- register tiles --- */

/* c (rows,columns) (+)= a (rows,K) b (K,columns), times factor (rows), if there is one. */
struct product {
    size_t rows, columns, K;
    const float *a; /* a[i * a_row + k], or turned, a[k * a_row + i]; readable to a tile's rows */
    size_t a_row;
    bool turned;
    const float *b; /* panels, `next` floats apart, whose rows are WIDTH apart; or LANES, the last,
                     * if it is narrow and `tight` */
    size_t first;   /* row of b that is row 0 of the product */
    size_t next;
    bool tight;
    float *c; /* whole vectors where `padded` */
    size_t c_row;
    bool padded;
    bool go_on; /* += */
    const float *factor;
};

enum { MOST_ROWS = 16 };

struct sums {
    vec of[MOST_ROWS][2];
};

/* A tile: `columns` of c from c on, made from a panel at b. */
struct tile {
    const struct product *product;
    const float *b;
    float *c;
    size_t columns;
};

/* Is there all of it in c? */
INLINE bool is_whole(const struct tile *tile, size_t rows, size_t vecs)
{
    const struct product *p = tile->product;
    return p->rows >= rows && (p->padded || tile->columns == vecs * LANES);
}

INLINE void start(const struct tile *tile, size_t rows, size_t vecs, struct sums *sum)
{
    const bool whole = is_whole(tile, rows, vecs);
    const float *c = tile->c;
#pragma GCC unroll 16
    for (size_t i = 0; i < rows; i++, c += tile->product->c_row)
#pragma GCC unroll 2
        for (size_t v = 0; v < vecs; v++) {
            if (whole)
                sum->of[i][v] = load(c + v * LANES);
            else if (i < tile->product->rows)
                sum->of[i][v] = load_part(c + v * LANES, tile->columns - v * LANES);
        }
}

INLINE void put(const struct tile *tile, size_t rows, size_t vecs, const struct sums *sum)
{
    const bool whole = is_whole(tile, rows, vecs);
    float *c = tile->c;
#pragma GCC unroll 16
    for (size_t i = 0; i < rows; i++, c += tile->product->c_row)
#pragma GCC unroll 2
        for (size_t v = 0; v < vecs; v++) {
            if (whole)
                store(c + v * LANES, sum->of[i][v]);
            else if (i < tile->product->rows)
                store_part(c + v * LANES, sum->of[i][v], tile->columns - v * LANES);
        }
}

/* Barriers keep the compiler from starting the next k early, and from using a pointer for each
 * row: three share one. */
INLINE void all_k(const struct tile *tile, size_t rows, size_t vecs, size_t b_step, bool turned,
                  struct sums *sum)
{
    const size_t a_row = tile->product->a_row, K = tile->product->K;
    const float *b = tile->b, *three[6];
#pragma GCC unroll 6
    for (size_t t = 0; t < 6; t++)
        three[t] = tile->product->a + (!turned && 3 * t < rows ? 3 * t * a_row : 0);
    for (size_t k = 0; k < K; k++, b += b_step) {
        __asm__ volatile("" : "+r"(b), "+r"(three[0]) : : "memory");
        if (!turned)
            __asm__ volatile("" : "+r"(three[1]), "+r"(three[2]) : : "memory");
        if (!turned && rows > 9)
            __asm__ volatile("" : "+r"(three[3]), "+r"(three[4]), "+r"(three[5]) : : "memory");
        const vec left = load(b), right = vecs > 1 ? load(b + LANES) : left;
#pragma GCC unroll 16
        for (size_t i = 0; i < rows; i++) {
            const vec x = spread(turned ? three[0][i] : three[i / 3][i % 3 * a_row]);
            sum->of[i][0] = multiply_add(x, left, sum->of[i][0]);
            if (vecs > 1)
                sum->of[i][1] = multiply_add(x, right, sum->of[i][1]);
        }
#pragma GCC unroll 6
        for (size_t t = 0; t < 6; t++)
            three[t] += turned ? a_row : 1;
    }
}

/* All but the tile are constants. */
INLINE void tile_of(const struct tile *tile, size_t rows, size_t vecs, size_t b_step, bool turned)
{
    const float *factor = tile->product->factor;
    struct sums sum = {0};
    if (tile->product->go_on)
        start(tile, rows, vecs, &sum);
    all_k(tile, rows, vecs, b_step, turned, &sum);
    if (factor)
#pragma GCC unroll 16
        for (size_t i = 0; i < rows; i++)
#pragma GCC unroll 2
            for (size_t v = 0; v < vecs; v++)
                sum.of[i][v] *= factor[i];
    put(tile, rows, vecs, &sum);
}

typedef void (*tile_fn)(const struct tile *tile);

#define TILE(name, rows, vecs, step, turned)                                                       \
    static __attribute__((noinline)) void name(const struct tile *tile)                            \
    {                                                                                              \
        tile_of(tile, rows, vecs, step, turned);                                                   \
    }

TILE(wide_few, FEW_ROWS, 2, WIDTH, false)
TILE(wide, ROWS, 2, WIDTH, false)
TILE(half_few, FEW_ROWS, 1, WIDTH, false)
TILE(half, ROWS, 1, WIDTH, false)
TILE(narrow_few, FEW_ROWS, 1, LANES, false)
TILE(narrow, ROWS, 1, LANES, false)
TILE(turned_wide_few, FEW_ROWS, 2, WIDTH, true)
TILE(turned_wide, ROWS, 2, WIDTH, true)
TILE(turned_narrow_few, FEW_ROWS, 1, LANES, true)
TILE(turned_narrow, ROWS, 1, LANES, true)
#if defined __AVX512F__
TILE(narrow_many, NARROW_ROWS, 1, LANES, false)
TILE(turned_narrow_many, NARROW_ROWS, 1, LANES, true)
#else
#define narrow_many narrow
#define turned_narrow_many turned_narrow
#endif

/* Wide, half of a wide panel, narrow; by rows. */
static const tile_fn straight_tiles[3][3] = {
    {wide_few, wide, wide}, {half_few, half, half}, {narrow_few, narrow, narrow_many}};
static const tile_fn turned_tiles[3][3] = {{turned_wide_few, turned_wide, turned_wide},
                                           {NULL, NULL, NULL},
                                           {turned_narrow_few, turned_narrow, turned_narrow_many}};

/* How many rows to multiply next where `left` are left, of products whose panels are so wide. */
static inline size_t next_rows(size_t left, size_t columns)
{
    if (columns <= LANES && left >= NARROW_ROWS)
        return NARROW_ROWS;
    return left >= ROWS ? ROWS : hr_min_size(left, FEW_ROWS);
}

static void multiply(const struct product *p)
{
    const size_t height = p->rows > ROWS ? 2 : p->rows > FEW_ROWS;
    const tile_fn(*tiles)[3] = p->turned ? turned_tiles : straight_tiles;
    struct tile tile = {p, p->b + p->first * WIDTH, p->c, 0};
    size_t left = p->columns;
    for (; left > LANES; left -= tile.columns, tile.b += p->next, tile.c += WIDTH) {
        tile.columns = hr_min_size(left, WIDTH);
        tiles[0][height](&tile);
    }
    if (left == 0)
        return;
    tile.columns = left;
    if (p->tight)
        tile.b -= p->first * (WIDTH - LANES);
    tiles[p->tight ? 2 : 1][height](&tile);
}

/* Scratch memory, in floats. A panel is WIDTH columns side by side. */
struct room {
    size_t d, keys;         /* rounded up to WIDTH; of keys to be behind a row as well */
    float *q, *d_o;         /* (QUERIES,d): of a strip, times a factor; as they are left */
    float *q_right, *right; /* the same in panels, for the right side of products */
    float *p, *ds;          /* (QUERIES,keys) */
    float *k_turned, *v_turned, *k, *v; /* panels: (d,keys) and (keys,d) */
};

static float *take(float **next, size_t floats)
{
    float *taken = *next;
    *next += hr_round_up(floats, SIXTEEN);
    return taken;
}

enum { TAKES = 10 };

/* Zeros stand behind a row of scores, as many as a tile has rows; and an odd number of lines, so
 * that rows do not share sets of a cache. */
static size_t padded_keys(size_t keys)
{
    return hr_round_up(keys + NARROW_ROWS, 2 * SIXTEEN) + SIXTEEN;
}

static size_t room_floats(size_t keys, size_t width)
{
    const size_t d = hr_round_up(width, WIDTH), all = padded_keys(keys);
    return 4 * QUERIES * d + 2 * QUERIES * all + 4 * all * d + SIXTEEN * TAKES;
}

static struct room room_of(const struct hr_attention_head *head)
{
    const size_t d = hr_round_up(head->width, WIDTH), keys = padded_keys(head->keys);
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
    return room;
}

static size_t scratch_bytes(size_t keys, size_t width)
{
    return room_floats(keys, width) * sizeof(float);
}

/* --- operands --- */

/* to (rows,width), `row` apart, = from times factor. */
INLINE void scale_rows(size_t rows, size_t width, const float *from, size_t from_row, float factor,
                       float *to, size_t row)
{
    for (size_t r = 0; r < rows; r++, from += from_row, to += row) {
        size_t c = 0;
        for (; c + LANES <= width; c += LANES)
            store(to + c, load(from + c) * factor);
        if (c < width)
            store_part(to + c, load_part(from + c, width - c) * factor, width - c);
    }
}

/* Rows into panels; what is missing of a vector is 0. */
static void pack_rows(size_t rows, size_t width, const float *from, size_t from_row, float *to)
{
    for (size_t c = 0; c < width; c += WIDTH, to += rows * WIDTH) {
        const size_t columns = hr_min_size(WIDTH, width - c),
                     step = columns > LANES ? WIDTH : LANES;
        for (size_t r = 0; r < rows; r++)
            for (size_t v = 0; v < columns; v += LANES)
                store(to + r * step + v, load_part(from + r * from_row + c + v, columns - v));
    }
}

static void turn_rows(size_t rows, size_t width, const float *from, size_t from_row, float *to)
{
    for (size_t r = 0; r < rows; r += WIDTH, to += width * WIDTH)
        HR_ISA_NAME(hr_blocks).turn(width, hr_min_size(WIDTH, rows - r), from + r * from_row,
                                    from_row, to);
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
        n = next_rows(strip->count - i, WIDTH);
        multiply(&(struct product){.rows = n,
                                   .columns = seen(strip, i + n - 1),
                                   .K = width,
                                   .a = a + i * room->d,
                                   .a_row = room->d,
                                   .b = b,
                                   .next = width * WIDTH,
                                   .c = c + i * room->keys,
                                   .c_row = room->keys,
                                   .padded = true});
    }
}

/* to (strip,d) = a (strip,keys) b (keys,d) times factor (strip): each tile as far as one of its
 * rows sees. */
static void multiply_values(const struct strip *strip, const float *a, const float *b,
                            const float *factor, float *to, size_t to_row)
{
    const struct room *room = strip->room;
    const size_t width = strip->head->width;
    for (size_t i = 0, n; i < strip->count; i += n) {
        n = next_rows(strip->count - i, width);
        multiply(&(struct product){.rows = n,
                                   .columns = width,
                                   .K = seen(strip, i + n - 1),
                                   .a = a + i * room->keys,
                                   .a_row = room->keys,
                                   .b = b,
                                   .next = strip->head->keys * WIDTH,
                                   .tight = true,
                                   .c = to + i * to_row,
                                   .c_row = to_row,
                                   .factor = factor ? factor + i : NULL});
    }
}

/* to (keys,d) += the strip's part of a^T b, a (strip,keys), b (strip,d) in panels; queries == keys,
 * so that keys from the strip's first on are begun here, and none behind its last is seen. */
static void multiply_turned(const struct strip *strip, const float *a, const float *b, float *to)
{
    const struct room *room = strip->room;
    const size_t kv_row = strip->head->kv_row, keys = strip->first + strip->count;
    const size_t width = strip->head->width;
    for (size_t j = 0, n; j < keys; j += n) {
        const bool go_on = j < strip->first;
        n = next_rows((go_on ? strip->first : keys) - j, width);
        const size_t skipped = go_on ? 0 : j - strip->first;
        multiply(&(struct product){.rows = n,
                                   .columns = width,
                                   .K = strip->count - skipped,
                                   .a = a + skipped * room->keys + j,
                                   .a_row = room->keys,
                                   .turned = true,
                                   .b = b,
                                   .first = skipped,
                                   .next = strip->count * WIDTH,
                                   .tight = true,
                                   .c = to + j * kv_row,
                                   .c_row = kv_row,
                                   .go_on = go_on});
    }
}

/* --- rows of scores --- */

/* 2^x for x <= 0, not less than 2^-125; NaN stays NaN. x = n + f, |f| <= 1/2; the polynomial is
 * off by 1e-7 of the value at most, and exact at 0. */
INLINE vec exp2_of(vec x)
{
    const float BIASED = 0x1.8p23f + 127; /* added, it leaves the exponent of 2^n in the low bits */
    const vec zero = {0};
    x = larger(zero - 125.0f, x);
    const vec rounded = x + BIASED, f = x - (rounded - BIASED);
    vec p = zero + 0x1.5bba37p-10f;
    p = multiply_add(p, f, zero + 0x1.3cea87p-7f);
    p = multiply_add(p, f, zero + 0x1.c6b753p-5f);
    p = multiply_add(p, f, zero + 0x1.ebf9bcp-3f);
    p = multiply_add(p, f, zero + 0x1.62e429p-1f);
    p = multiply_add(p, f, zero + 1.0f);
    return p * (vec)((bits)rounded << 23);
}

/* log2 of x >= 1, off by 2e-7; NaN stays NaN. x = 2^n m, m from sqrt(1/2) on; the polynomial is
 * that of Cephes' logf. */
INLINE vec log2_of(vec x)
{
    const bits n = ((bits)x - 0x3f3504f3) >> 23;
    const vec f = (vec)((bits)x - (n << 23)) - 1.0f, z = f * f;
    vec p = (vec){0} + 7.0376836292e-2f;
    p = p * f - 1.1514610310e-1f;
    p = p * f + 1.1676998740e-1f;
    p = p * f - 1.2420140846e-1f;
    p = p * f + 1.4249322787e-1f;
    p = p * f - 1.6668057665e-1f;
    p = p * f + 2.0000714765e-1f;
    p = p * f - 2.4999993993e-1f;
    p = p * f + 3.3333331174e-1f;
    const vec log = (f * z * p - 0.5f * z) + f;
    return (log * LOG2_E + __builtin_convertvector(n, vec)) + (x - x);
}

/* The first `count` lanes of x, at most all; the others of y. */
INLINE vec first_or(vec x, vec y, size_t count)
{
#if defined __AVX512F__
    return _mm512_mask_mov_ps(y, (__mmask16)((1u << count) - 1), x);
#elif defined __AVX2__
    return _mm256_blendv_ps(y, x, (__m256)first_lanes(count));
#else
    memcpy(&y, &x, count * sizeof(float));
    return y;
#endif
}

/* Rows of scores are worked on four at a time, which a query more sees each than the one before:
 * so loops end where they are expected to, and chains of additions stand side by side. Rows that
 * are missing behind the last are there in scratch memory. QUERIES is a multiple of it. */
enum { GROUP = 4 };

#define FOR_GROUP(r) _Pragma("GCC unroll 4") for (size_t r = 0; r < GROUP; r++)

/* Zeros behind a row's `count` values; those in its last vector are there already. */
INLINE void put_zeros(size_t count, float *row)
{
    for (size_t j = hr_round_up(count, LANES); j < count + NARROW_ROWS; j += LANES)
        store(row + j, (vec){0});
}

/* Part of a row from j on, where it may end; `other` behind its end. */
INLINE vec some_or(vec x, vec other, size_t count, size_t j)
{
    return count >= j + LANES ? x : first_or(x, other, count > j ? count - j : 0);
}

/* Four rows s, `row` floats apart, of count, count + 1, ... scores, in; 2^(s - largest) out. */
INLINE void exponentials(size_t count, float *s, size_t row, float *largest, float *sums)
{
    const size_t whole = count - count % SIXTEEN, end = count + GROUP - 1;
    struct sixteen most[GROUP], sum[GROUP];
    float top[GROUP];
    FOR_GROUP(r) most[r] = sixteen_of(s[r * row]);
    for (size_t j = 0; j < whole; j += SIXTEEN)
        FOR_GROUP(r)
    FOR_PARTS(p) most[r].part[p] = larger(load(s + r * row + j + p * LANES), most[r].part[p]);
    for (size_t j = whole; j < end; j += SIXTEEN)
        FOR_GROUP(r) FOR_PARTS(p)
        {
            const size_t at = j + p * LANES;
            const vec x = load(s + r * row + at), m = most[r].part[p];
            most[r].part[p] = larger(some_or(x, m, count + r, at), m);
        }
    FOR_GROUP(r)
    {
        largest[r] = top[r] = largest_of(most[r]);
        sum[r] = sixteen_of(0);
    }
    for (size_t j = 0; j < whole; j += SIXTEEN)
        FOR_GROUP(r) FOR_PARTS(p)
        {
            float *at = s + r * row + j + p * LANES;
            const vec e = exp2_of(load(at) - top[r]);
            store(at, e);
            sum[r].part[p] += e;
        }
    for (size_t j = whole; j < end; j += SIXTEEN)
        FOR_GROUP(r) FOR_PARTS(p)
        {
            const size_t at = j + p * LANES;
            const vec x = exp2_of(load(s + r * row + at) - top[r]);
            const vec e = some_or(x, (vec){0}, count + r, at);
            store(s + r * row + at, e);
            sum[r].part[p] += e;
        }
    FOR_GROUP(r)
    {
        put_zeros(count + r, s + r * row);
        sums[r] = sum_of(sum[r]);
    }
}

static void forward_strip(const struct strip *strip)
{
    const struct hr_attention_head *head = strip->head;
    const struct room *room = strip->room;
    float most[QUERIES + LANES] = {0}, sums[QUERIES + LANES] = {0}, inverse[QUERIES + LANES];
    scale_rows(strip->count, head->width, head->q + strip->first * head->q_row, head->q_row,
               head->scale * LOG2_E, room->q, room->d);
    multiply_seen(strip, room->q, room->k_turned, room->p);
    for (size_t i = 0; i < strip->count; i += GROUP)
        exponentials(seen(strip, i), room->p + i * room->keys, room->keys, most + i, sums + i);
    for (size_t i = 0; i < strip->count; i += LANES) {
        store(inverse + i, 1.0f / load(sums + i));
        if (head->log_sums)
            store_part(head->log_sums + strip->first + i, load(most + i) + log2_of(load(sums + i)),
                       strip->count - i);
    }
    multiply_values(strip, room->p, room->v, inverse, head->o + strip->first * head->o_row,
                    head->o_row);
}

static void forward(const struct hr_attention_head *head)
{
    HR_ASSERT(head->queries >= 1 && head->queries <= head->keys && head->width >= 1);
    const struct room room = room_of(head);
    turn_rows(head->keys, head->width, head->k, head->kv_row, room.k_turned);
    pack_rows(head->keys, head->width, head->v, head->kv_row, room.v);
    for (size_t i = 0; i < head->queries; i += QUERIES)
        forward_strip(&(struct strip){head, &room, i, hr_min_size(QUERIES, head->queries - i)});
}

/* --- backward --- */

INLINE float dot(size_t count, const float *a, const float *b)
{
    struct sixteen sum = sixteen_of(0);
    for (size_t c = 0; c < count; c += SIXTEEN) {
        const struct sixteen x = load_sixteen(a + c, count - c), y = load_sixteen(b + c, count - c);
        FOR_PARTS(p) sum.part[p] += x.part[p] * y.part[p];
    }
    return sum_of(sum);
}

/* Four rows, as above: p = 2^(s - log_sum), ds = p (dp - delta) */
INLINE void row_gradients(size_t count, const float *log_sum, const float *delta, float *s,
                          float *dp, size_t row)
{
    const size_t whole = count - count % LANES, end = count + GROUP - 1;
    for (size_t j = 0; j < whole; j += LANES)
        FOR_GROUP(r)
        {
            float *p_at = s + r * row + j, *ds_at = dp + r * row + j;
            const vec p = exp2_of(load(p_at) - log_sum[r]);
            store(p_at, p);
            store(ds_at, p * (load(ds_at) - delta[r]));
        }
    for (size_t j = whole; j < end; j += LANES)
        FOR_GROUP(r)
        {
            float *p_at = s + r * row + j, *ds_at = dp + r * row + j;
            const vec p = exp2_of(load(p_at) - log_sum[r]), ds = p * (load(ds_at) - delta[r]);
            store(p_at, some_or(p, (vec){0}, count + r, j));
            store(ds_at, some_or(ds, (vec){0}, count + r, j));
        }
    FOR_GROUP(r)
    {
        put_zeros(count + r, s + r * row);
        put_zeros(count + r, dp + r * row);
    }
}

static void backward_strip(const struct strip *strip, const struct hr_attention_gradients *to)
{
    const struct hr_attention_head *head = strip->head;
    const struct room *room = strip->room;
    const size_t first = strip->first, count = strip->count, width = head->width;
    const float *q = head->q + first * head->q_row, *o = head->o + first * head->o_row;
    const float *d_o = to->d_o + first * head->o_row;
    float log_sums[QUERIES] = {0}, delta[QUERIES] = {0};
    scale_rows(count, width, q, head->q_row, head->scale * LOG2_E, room->q, room->d);
    scale_rows(count, width, d_o, head->o_row, head->scale, room->d_o, room->d);
    pack_rows(count, width, q, head->q_row, room->q_right);
    pack_rows(count, width, d_o, head->o_row, room->right);
    multiply_seen(strip, room->q, room->k_turned, room->p);
    multiply_seen(strip, room->d_o, room->v_turned, room->ds);
    for (size_t i = 0; i < count; i++) {
        log_sums[i] = head->log_sums[first + i];
        delta[i] = dot(width, room->d_o + i * room->d, o + i * head->o_row);
    }
    for (size_t i = 0; i < count; i += GROUP)
        row_gradients(seen(strip, i), log_sums + i, delta + i, room->p + i * room->keys,
                      room->ds + i * room->keys, room->keys);
    multiply_values(strip, room->ds, room->k, NULL, to->dq + first * head->q_row, head->q_row);
    multiply_turned(strip, room->ds, room->q_right, to->dk);
    multiply_turned(strip, room->p, room->right, to->dv);
}

static void backward(const struct hr_attention_head *head,
                     const struct hr_attention_gradients *gradients)
{
    HR_ASSERT(head->queries == head->keys && head->width >= 1 && head->log_sums);
    const struct room room = room_of(head);
    turn_rows(head->keys, head->width, head->k, head->kv_row, room.k_turned);
    turn_rows(head->keys, head->width, head->v, head->kv_row, room.v_turned);
    pack_rows(head->keys, head->width, head->k, head->kv_row, room.k);
    for (size_t i = 0; i < head->queries; i += QUERIES)
        backward_strip(&(struct strip){head, &room, i, hr_min_size(QUERIES, head->queries - i)},
                       gradients);
}

const struct hr_attention HR_ISA_NAME(hr_attention) = {
    .forward = forward, .backward = backward, .scratch_bytes = scratch_bytes};
