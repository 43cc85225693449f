/* Blocks of AMX tiles, compiled once for each instruction set (see base/isa.h), and once more with
 * AMX. Elsewhere the same sums are made with vectors of fused multiply-adds; without those a value
 * at a time. */
#include "tiles/micro_amx.h"

#include <string.h>

#include "base/error.h"
#include "kernels/bf16.h"
#include "kernels/simd.h"
#include "base/size.h"
#include "kernels/bf16_steps.h"

enum { WIDTH = HR_AMX_COLUMNS };

#if defined __AMX_BF16__ || defined __AMXBF16__ /* clang 14 calls it so */
/* --- the instructions --- */

/* As LDTILECFG reads it. */
struct palette {
    uint8_t number, start, unused[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};
_Static_assert(sizeof(struct palette) == 64, "LDTILECFG reads 64 bytes");

/* What was stored is there before a tile is loaded: the compiler's headers do not say that. */
static inline void barrier(void)
{
    __asm__ volatile("" : : : "memory");
}

/* Tiles 0 to 3 are c's; of those of a and b each one that is not the only one has a turn, so that
 * it is loaded while others multiply. */
static void begin(const struct hr_amx *amx)
{
    struct palette palette = {.number = 1};
    const size_t first_of_b = amx->form == HR_AMX_SQUARE ? 6 : amx->form == HR_AMX_TALL ? 4 : 5;
    const size_t end_of_b = amx->form == HR_AMX_TALL ? 5 : 8;
    HR_ASSERT(amx->rows >= 1 && amx->rows <= HR_AMX_ROWS && amx->pairs >= 1 &&
              amx->pairs <= HR_AMX_PAIRS);
    for (size_t t = 0; t < 8; t++) {
        const bool of_b = t >= first_of_b && t < end_of_b, of_a = t >= HR_AMX_TILES && !of_b;
        palette.rows[t] = (uint8_t)(of_b ? amx->pairs : amx->rows);
        palette.row_bytes[t] = (uint16_t)(sizeof(uint32_t) * (of_a ? amx->pairs : WIDTH));
    }
    barrier();
    _tile_loadconfig(&palette);
}

static void end(void)
{
    _tile_release();
}

#define LOAD(tile, of, i) _tile_loadd(tile, amx->of[i] + of##_at, of##_row)

static void square(const struct hr_amx *amx, size_t a_at, size_t b_at, size_t a_row, size_t b_row)
{
    LOAD(4, a, 0);
    LOAD(6, b, 0);
    _tile_dpbf16ps(0, 4, 6);
    LOAD(7, b, 1);
    _tile_dpbf16ps(1, 4, 7);
    LOAD(5, a, 1);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
}

static void tall(const struct hr_amx *amx, size_t a_at, size_t b_at, size_t a_row, size_t b_row)
{
    LOAD(4, b, 0);
    LOAD(5, a, 0);
    _tile_dpbf16ps(0, 5, 4);
    LOAD(6, a, 1);
    _tile_dpbf16ps(1, 6, 4);
    LOAD(7, a, 2);
    _tile_dpbf16ps(2, 7, 4);
    LOAD(5, a, 3);
    _tile_dpbf16ps(3, 5, 4);
}

static void wide(const struct hr_amx *amx, size_t a_at, size_t b_at, size_t a_row, size_t b_row)
{
    LOAD(4, a, 0);
    LOAD(5, b, 0);
    _tile_dpbf16ps(0, 4, 5);
    LOAD(6, b, 1);
    _tile_dpbf16ps(1, 4, 6);
    LOAD(7, b, 2);
    _tile_dpbf16ps(2, 4, 7);
    LOAD(5, b, 3);
    _tile_dpbf16ps(3, 4, 5);
}

static inline __attribute__((always_inline)) void all_chunks(
    const struct hr_amx *amx,
    void (*chunk)(const struct hr_amx *amx, size_t a_at, size_t b_at, size_t a_row, size_t b_row))
{
    const size_t a_row = amx->a_row * sizeof(uint32_t), b_row = amx->b_row * sizeof(uint32_t);
    for (size_t n = 0; n < amx->chunks; n++)
        chunk(amx, amx->a_at ? amx->a_at[n * amx->pairs] : n * amx->a_next,
              amx->b_at ? amx->b_at[n * amx->pairs] : n * amx->b_next, a_row, b_row);
}

static void multiply(const struct hr_amx *amx)
{
    const size_t c_row = amx->c_row * sizeof(float);
    barrier();
    if (amx->more) {
        _tile_loadd(0, amx->c[0], c_row);
        _tile_loadd(1, amx->c[1], c_row);
        _tile_loadd(2, amx->c[2], c_row);
        _tile_loadd(3, amx->c[3], c_row);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    if (amx->form == HR_AMX_SQUARE)
        all_chunks(amx, square);
    else if (amx->form == HR_AMX_TALL)
        all_chunks(amx, tall);
    else
        all_chunks(amx, wide);
    _tile_stored(0, amx->c[0], c_row);
    _tile_stored(1, amx->c[1], c_row);
    _tile_stored(2, amx->c[2], c_row);
    _tile_stored(3, amx->c[3], c_row);
}

#else
/* --- the same arithmetic --- */

static void begin(const struct hr_amx *amx)
{
    HR_ASSERT(amx->rows >= 1 && amx->rows <= HR_AMX_ROWS && amx->pairs >= 1 &&
              amx->pairs <= HR_AMX_PAIRS);
}

static void end(void)
{
}

/* A row of c, or with fused multiply-adds a vector of it: 16 columns. */
struct sums {
    vec part[WIDTH / LANES];
};

#ifdef __FMA__
static inline void add_pair(uint32_t a, const uint32_t *b, struct sums *even, struct sums *odd)
{
    for (size_t v = 0; v < WIDTH / LANES; v++) {
        bits both;
        memcpy(&both, b + v * LANES, sizeof both);
        even->part[v] = multiply_add(spread(hr_bf16_even(a)), (vec)(both << 16), even->part[v]);
        odd->part[v] = multiply_add(spread(hr_bf16_odd(a)), (vec)(both & -65536), odd->part[v]);
    }
}

static inline vec add(vec x, vec y)
{
    return x + y;
}
#else
static inline void add_pair(uint32_t a, const uint32_t *b, struct sums *even, struct sums *odd)
{
    for (size_t j = 0; j < WIDTH; j++) {
        vec *e = &even->part[j / LANES], *o = &odd->part[j / LANES];
        (*e)[j % LANES] = hr_bf16_fma(hr_bf16_even(a), hr_bf16_even(b[j]), (*e)[j % LANES]);
        (*o)[j % LANES] = hr_bf16_fma(hr_bf16_odd(a), hr_bf16_odd(b[j]), (*o)[j % LANES]);
    }
}

/* In any mode of the thread: x * 1 + y. */
static inline vec add(vec x, vec y)
{
    for (size_t i = 0; i < LANES; i++)
        x[i] = hr_bf16_fma(x[i], 1, y[i]);
    return x;
}
#endif

static void one_row(const struct hr_amx *amx, const uint32_t *a, const uint32_t *b, float *c)
{
    struct sums even = {0}, odd = {0};
    for (size_t p = 0; p < amx->pairs; p++)
        add_pair(a[p], b + p * amx->b_row, &even, &odd);
    for (size_t v = 0; v < WIDTH / LANES; v++)
        store(c + v * LANES, add(load(c + v * LANES), add(even.part[v], odd.part[v])));
}

static void one_tile(const struct hr_amx *amx, const uint32_t *a, const uint32_t *b, float *c)
{
    for (size_t i = 0; !amx->more && i < amx->rows; i++)
        memset(c + i * amx->c_row, 0, WIDTH * sizeof *c);
    for (size_t n = 0; n < amx->chunks; n++) {
        const uint32_t *rows = a + (amx->a_at ? amx->a_at[n * amx->pairs] : n * amx->a_next);
        const uint32_t *pairs = b + (amx->b_at ? amx->b_at[n * amx->pairs] : n * amx->b_next);
        for (size_t i = 0; i < amx->rows; i++)
            one_row(amx, rows + i * amx->a_row, pairs, c + i * amx->c_row);
    }
}

static void multiply(const struct hr_amx *amx)
{
    const size_t nb = amx->form == HR_AMX_SQUARE ? 2 : amx->form == HR_AMX_TALL ? 1 : HR_AMX_TILES;
    for (size_t t = 0; t < HR_AMX_TILES; t++)
        one_tile(amx, amx->a[t / nb], amx->b[t % nb], amx->c[t]);
}
#endif

/* --- both --- */

static void store_tile(const struct hr_amx_end *how, size_t rows, size_t columns, const float *from,
                       size_t from_row, float *c, size_t c_row)
{
    for (size_t i = 0; i < rows; i++, from += from_row, c += c_row)
        for (size_t j = 0; j < columns; j += LANES) {
            const size_t count = hr_min_size(columns - j, LANES);
            vec sum = load_part(from + j, count);
            if (how->bias)
                sum += load_part(how->bias + j, count);
            if (how->round)
                sum = hr_bf16_rounded(sum);
            if (how->relu)
                sum = hr_bf16_relu(sum);
            store_part(c + j, sum, count);
        }
}

const struct hr_tiles_amx HR_ISA_NAME(hr_tiles_amx) = {
    .begin = begin, .multiply = multiply, .end = end, .store = store_tile};
