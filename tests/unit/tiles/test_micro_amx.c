/* Blocks of tiles in AMX's order against the twin of its instruction, bit by bit: every copy, form
 * and size of a tile, and values whose products and sums meet the edges. */
#include <string.h>

#include "base/fpenv.h"
#include "base/isa.h"
#include "base/philox.h"
#include "support/amx_twin.h"
#include "support/check.h"
#include "tiles/micro_amx.h"

enum { CHUNKS = 3, TILE = 16, PAIRS_ROW = CHUNKS * TILE + 3, C_ROW = TILE + 5 };
enum { KINDS = 6 };

static struct {
    const char *name;
    const struct hr_tiles_amx *tiles;
} copies[4];
static size_t ncopies;

static void add(const char *name, const struct hr_tiles_amx *tiles)
{
    copies[ncopies].name = name;
    copies[ncopies++].tiles = tiles;
    print_message("copy %s\n", name);
}

static int set_up(void **state)
{
    (void)state;
    static const struct hr_tiles_amx *const tiles[] = {HR_ISA_COPIES(hr_tiles_amx)};
    for (enum hr_isa level = HR_ISA_PLAIN; level <= hr_isa(); level++)
        add(hr_isa_level_name(level), tiles[level]);
#ifdef __x86_64__
    if (hr_isa_has_amx())
        add("v4amx", &hr_tiles_amx_v4amx);
#endif
    return 0;
}

static uint32_t word(uint64_t at, uint32_t sequence)
{
    return hr_random_block(check_seed(), HR_STREAM_TEST, at, sequence).v[0];
}

/* A value of one kind: any bits there are; small; mostly zeros and infinities; about the root of
 * the least normal number; so far to either side of it that products are 2^-140 to 2^-108; near
 * 1. */
static uint32_t value(uint32_t r, unsigned kind)
{
    switch (kind % KINDS) {
    case 0:
        return r;
    case 1:
        return r & 0x80ffffff;
    case 2:
        return (r & 0x807f0080) | (r & 0x300 ? 0 : 0x7f800000);
    case 3:
        return (r & 0x807fffff) | (60 + (r >> 24 & 7)) << 23;
    case 4:
        return (r & 0x807fffff) | (127 - 70 + (r >> 24 & 15)) << 23;
    default:
        return (r & 0x807fffff) | (120 + (r >> 24 & 15)) << 23;
    }
}

/* To add to: where products are near the least normal number, so is it. */
static uint32_t sum_value(uint32_t r, unsigned kind)
{
    return kind % KINDS == 4 ? (r & 0x807fffff) | (r >> 24 & 15) << 23 : value(r, kind);
}

static struct {
    uint32_t a[HR_AMX_TILES * TILE * PAIRS_ROW], b[HR_AMX_TILES * CHUNKS * TILE * TILE];
    float c[HR_AMX_TILES * TILE * C_ROW], want[HR_AMX_TILES * TILE * C_ROW];
} t;

static void fill(uint32_t number)
{
    for (size_t i = 0; i < sizeof t.a / sizeof *t.a; i++)
        t.a[i] = value(word(2 * i, number), number) >> 16 |
                 (value(word(2 * i + 1, number), number) & 0xffff0000);
    for (size_t i = 0; i < sizeof t.b / sizeof *t.b; i++)
        t.b[i] = value(word(2 * i, ~number), number / KINDS) >> 16 |
                 (value(word(2 * i + 1, ~number), number / KINDS) & 0xffff0000);
    for (size_t i = 0; i < sizeof t.c / sizeof *t.c; i++)
        t.c[i] = t.want[i] =
            hr_bf16_float(sum_value(word(i, number ^ 1u << 30), number / (KINDS * KINDS)));
}

/* Chunks behind one another in a row of a, and, with a table, the other way round. */
static struct hr_amx amx_of(uint32_t number, uint32_t *table)
{
    const uint32_t r = word(0, number ^ 1u << 29);
    struct hr_amx amx = {.form = (enum hr_amx_form)(number % 3),
                         .rows = r & 16 ? 16 : 1 + r % 16,
                         .pairs = r & 512 ? 16 : 1 + r / 32 % 16,
                         .chunks = 1 + r / 1024 % CHUNKS,
                         .a_next = TILE,
                         .b_next = TILE * TILE,
                         .a_row = PAIRS_ROW,
                         .b_row = TILE,
                         .c_row = C_ROW,
                         .more = r & 1u << 20};
    for (size_t n = 0; n < amx.chunks; n++)
        table[n * amx.pairs] = (uint32_t)((amx.chunks - 1 - n) * TILE);
    amx.a_at = r & 1u << 21 ? table : NULL;
    for (size_t i = 0; i < HR_AMX_TILES; i++) {
        amx.a[i] = t.a + i * TILE * PAIRS_ROW;
        amx.b[i] = t.b + i * CHUNKS * TILE * TILE;
        amx.c[i] = t.c + i * TILE * C_ROW;
    }
    return amx;
}

static float follow(const struct hr_amx *amx, const uint32_t *a, const uint32_t *b, float sum)
{
    for (size_t n = 0; n < amx->chunks; n++) {
        const uint32_t *x = a + (amx->a_at ? amx->a_at[n * amx->pairs] : n * amx->a_next);
        uint32_t y[TILE];
        for (size_t p = 0; p < amx->pairs; p++)
            y[p] = b[n * amx->b_next + p * amx->b_row];
        sum = amx_chunk(x, y, amx->pairs, sum);
    }
    return sum;
}

static bool same(float x, float y)
{
    const uint32_t a = hr_bf16_bits(x), b = hr_bf16_bits(y);
    return a == b || ((a & INT32_MAX) > 0x7f800000 && (b & INT32_MAX) > 0x7f800000);
}

static void check_block(uint32_t number, const struct hr_tiles_amx *tiles)
{
    uint32_t table[CHUNKS * TILE];
    fill(number);
    const struct hr_amx amx = amx_of(number, table);
    const size_t nb = amx.form == HR_AMX_SQUARE ? 2 : amx.form == HR_AMX_TALL ? 1 : 4;
    tiles->begin(&amx);
    tiles->multiply(&amx);
    tiles->end();
    for (size_t i = 0; i < sizeof t.c / sizeof *t.c; i++) {
        const size_t tile = i / C_ROW / TILE, row = i / C_ROW % TILE, column = i % C_ROW;
        if (row < amx.rows && column < TILE)
            t.want[i] = follow(&amx, amx.a[tile / nb] + row * amx.a_row, amx.b[tile % nb] + column,
                               amx.more ? t.want[i] : 0);
        if (!same(t.c[i], t.want[i]))
            fail_msg("block %u: tile %zu, row %zu, column %zu: %a, expected %a", number, tile, row,
                     column, (double)t.c[i], (double)t.want[i]);
    }
}

/* The instruction looks at no mode; the others are called in one that flushes denormals. */
static void every_copy_sums_as_the_instruction(void **state)
{
    (void)state;
    const uint64_t mode = hr_fp_mode();
    for (size_t n = 0; n < ncopies; n++)
        for (uint32_t number = 0;
             number < check_count(2 * KINDS * KINDS * KINDS, 20 * KINDS * KINDS * KINDS);
             number++) {
            if (strcmp(copies[n].name, "v4amx") != 0 || number % 2)
                hr_fp_flush_denormals();
            check_block(number, copies[n].tiles);
            hr_fp_mode_set(mode);
        }
}

/* Denormals are zeros where they are read, and become zeros of their sign where they are made. */
static void denormals_are_zeros(void **state)
{
    (void)state;
    const uint32_t least = 0x0080, small = 0x1f80, denormal = 0x0040, one = 0x3f80;
    for (size_t n = 0; n < ncopies; n++) {
        const uint64_t mode = hr_fp_mode();
        const struct hr_amx amx = {.form = HR_AMX_TALL,
                                   .rows = 1,
                                   .pairs = 2,
                                   .chunks = 1,
                                   .a = {t.a, t.a + 2, t.a + 4, t.a + 6},
                                   .b = {t.b},
                                   .a_row = 2,
                                   .b_row = TILE,
                                   .c = {t.c, t.c + TILE, t.c + 2 * TILE, t.c + 3 * TILE},
                                   .c_row = TILE,
                                   .more = true};
        memset(&t, 0, sizeof t);
        t.b[0] = one << 16 | one, t.b[TILE] = small;
        t.a[0] = denormal;                    /* times 1 */
        t.a[2] = least, t.a[3] = least << 16; /* the second has nothing to be multiplied by */
        t.a[5] = small | 0x8000;              /* -small squared: a denormal result */
        t.a[6] = least | (least | 0x8000) << 16, t.c[3 * TILE] = hr_bf16_float(0x00400000);
        hr_fp_flush_denormals();
        copies[n].tiles->begin(&amx);
        copies[n].tiles->multiply(&amx);
        copies[n].tiles->end();
        hr_fp_mode_set(mode);
        assert_int_equal(hr_bf16_bits(t.c[0]), 0);
        assert_int_equal(hr_bf16_bits(t.c[TILE]), least << 16);
        assert_int_equal(hr_bf16_bits(t.c[2 * TILE]), 0);
        assert_int_equal(hr_bf16_bits(t.c[3 * TILE]), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_copy_sums_as_the_instruction),
        cmocka_unit_test(denormals_are_zeros),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
