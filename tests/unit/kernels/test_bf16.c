/* bfloat16 as bf16.h promises it: rounding against the nearest of two neighbours, sums of products
 * against fmaf, and every copy against the scalar functions, bit by bit. */
#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/philox.h"
#include "kernels/bf16.h"
#include "support/check.h"
#include "tiles/micro_bf16.h"

enum { MAX = 80 * 80 };

static struct copy {
    const char *name;
    const struct hr_bf16 *loops;
    const struct hr_tiles_bf16 *tiles;
    const struct hr_blocks *blocks; /* of floats that are multiplied in place of pairs, or NULL */
} copies[4];
static size_t ncopies;

static void add(const char *name, const struct hr_bf16 *loops, const struct hr_tiles_bf16 *tiles,
                const struct hr_blocks *blocks)
{
    copies[ncopies++] = (struct copy){name, loops, tiles, blocks};
}

static int set_up(void **state)
{
    (void)state;
    static const struct hr_bf16 *const loops[] = {HR_ISA_COPIES(hr_bf16)};
    static const struct hr_tiles_bf16 *const tiles[] = {HR_ISA_COPIES(hr_tiles_bf16)};
    static const struct hr_blocks *const blocks[] = {HR_ISA_COPIES(hr_blocks)};
    for (enum hr_isa level = HR_ISA_PLAIN; level <= hr_isa(); level++) {
        const char *name = hr_isa_level_name(level);
        const bool fused = !strcmp(name, "v3") || !strcmp(name, "v4");
        add(name, loops[level], tiles[level], fused ? blocks[level] : NULL);
    }
#ifdef __x86_64__
    if (hr_isa_has_bf16())
        add("v4bf16", &hr_bf16_v4bf16, &hr_tiles_bf16_v4bf16, NULL);
#endif
    for (size_t i = 0; i < ncopies; i++)
        print_message("copy %s\n", copies[i].name);
    return 0;
}

static uint32_t random_bits(uint64_t at, uint32_t sequence)
{
    return hr_random_block(check_seed(), HR_STREAM_TEST, at, sequence).v[0];
}

static bool is_nan(uint32_t bits)
{
    return (bits & INT32_MAX) > 0x7f800000;
}

/* --- rounding --- */

/* The float of these bits, but for infinity the number behind the largest. */
static double value_of(uint32_t bits)
{
    const double sign = bits >> 31 ? -1 : 1;
    return (bits & INT32_MAX) == 0x7f800000 ? sign * 0x1p128 : (double)hr_bf16_float(bits);
}

static uint32_t nearest(uint32_t bits)
{
    const uint32_t below = bits & 0xffff0000, above = below + 0x10000;
    const double x = value_of(bits);
    if ((bits & 0x7f800000) == 0)
        return bits & 1u << 31;
    if ((bits & INT32_MAX) == 0x7f800000)
        return bits;
    const double down = fabs(x - value_of(below)), up = fabs(value_of(above) - x);
    return down < up || (down == up && !(below & 0x10000)) ? below : above;
}

static void rounds_to_the_nearest(void **state)
{
    (void)state;
    static const uint32_t lower[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
    for (uint32_t upper = 0; upper < 1u << 16; upper++)
        for (size_t i = 0; i < sizeof lower / sizeof *lower; i++) {
            const uint32_t bits = upper << 16 | lower[i], got = hr_bf16_round_bits(bits);
            assert_int_equal(got & 0xffff, 0);
            if (is_nan(bits)) {
                assert_true(is_nan(got) && got & 0x400000 && !((got ^ bits) & 0xffbf0000));
                continue;
            }
            assert_int_equal(got, nearest(bits));
        }
}

static void values_stay_what_they_are(void **state)
{
    (void)state;
    for (uint32_t upper = 0; upper < 1u << 16; upper++) {
        const float x = hr_bf16_float(upper << 16);
        const uint32_t pair = hr_bf16_pair(x, 0), other = hr_bf16_pair(0, x);
        const bool denormal = (upper & 0x7f80) == 0;
        const uint32_t want = denormal              ? upper & 0x8000
                              : is_nan(upper << 16) ? upper | 0x40
                                                    : upper;
        assert_int_equal(pair, want);
        assert_int_equal(other, want << 16);
        assert_int_equal(hr_bf16_bits(hr_bf16_even(pair)), want << 16);
        assert_int_equal(hr_bf16_bits(hr_bf16_odd(other)), want << 16);
    }
}

/* --- the loops, in every copy --- */

/* All bits there are: numbers, denormals, infinities, NaN. */
static void fill(float *x, size_t count, uint32_t sequence)
{
    for (size_t i = 0; i < count; i++)
        x[i] = hr_bf16_float(random_bits(i, sequence));
}

static void every_copy_rounds_alike(void **state)
{
    (void)state;
    static float x[MAX], y[MAX];
    for (size_t c = 0; c < ncopies; c++)
        for (size_t count = 0; count < 100; count++) {
            const size_t n = count == 99 ? MAX - 1 : count;
            fill(x, n + 1, (uint32_t)count);
            memcpy(y, x, sizeof y);
            copies[c].loops->round(n, count % 2 ? x : y, y);
            for (size_t i = 0; i < n; i++)
                assert_int_equal(hr_bf16_bits(y[i]), hr_bf16_round_bits(hr_bf16_bits(x[i])));
            assert_int_equal(hr_bf16_bits(y[n]), hr_bf16_bits(x[n]));
        }
}

static void every_copy_pairs_alike(void **state)
{
    (void)state;
    static float x[MAX], z[MAX];
    static uint32_t got[MAX];
    for (size_t c = 0; c < ncopies; c++)
        for (size_t n = 0; n < 100; n++) {
            fill(x, 4 * n + 8, 1);
            fill(z, 4 * n + 8, 2);
            memset(got, 0x7f, sizeof got);
            copies[c].loops->pack(n, x, got);
            for (size_t i = 0; i < n; i += 2)
                assert_int_equal(got[i / 2], hr_bf16_pair(x[i], i + 1 < n ? x[i + 1] : 0));
            assert_int_equal(got[(n + 1) / 2], 0x7f7f7f7f);
            for (size_t two = 0; two < 2; two++) {
                const size_t rows = 1 + n % 3, width = n + n % 5;
                memset(got, 0x7f, sizeof got);
                copies[c].loops->pack_two(rows, n, x, two ? z : NULL, n + 2, width, got);
                for (size_t i = 0; i < rows * width; i++) {
                    const size_t at = i / width * (n + 2) + i % width;
                    assert_int_equal(got[i],
                                     i % width < n ? hr_bf16_pair(x[at], two ? z[at] : 0) : 0);
                }
                assert_int_equal(got[rows * width], 0x7f7f7f7f);
            }
        }
}

static void check_panel(const struct copy *copy, const float *x, size_t K, size_t columns,
                        size_t width, bool by_rows)
{
    static uint32_t got[MAX];
    const size_t stride = (by_rows ? columns : K) + 1, step = by_rows ? stride : 1;
    const size_t column = by_rows ? 1 : stride, panel = (K + 1) / 2 * width;
    const size_t end = panel * ((columns + width - 1) / width);
    memset(got, 0x7f, sizeof got);
    (by_rows ? copy->loops->pack_rows : copy->loops->pack_columns)(K, columns, x, stride, width,
                                                                   got);
    for (size_t k = 0; k < K; k += 2)
        for (size_t j = 0; j < end / panel * width; j++) {
            const float *at = x + k * step + j * column;
            const uint32_t want = j < columns ? hr_bf16_pair(at[0], k + 1 < K ? at[step] : 0) : 0;
            assert_int_equal(got[j / width * panel + k / 2 * width + j % width], want);
        }
    assert_int_equal(got[end], 0x7f7f7f7f);
}

static void every_copy_makes_the_same_panels(void **state)
{
    (void)state;
    static const size_t widths[] = {12, 16, 32};
    static float x[MAX];
    fill(x, MAX, 3);
    for (size_t c = 0; c < ncopies; c++)
        for (size_t w = 0; w < 3; w++)
            for (size_t columns = 1; columns <= 2 * widths[w] + 3; columns++)
                for (size_t K = 1; K < 70; K += K < 35 ? 1 : 7)
                    for (size_t by_rows = columns > widths[w]; by_rows < 2; by_rows++)
                        check_panel(&copies[c], x, K, columns, widths[w], by_rows);
}

static void every_copy_turns_alike(void **state)
{
    (void)state;
    static float x[MAX], z[MAX];
    static uint32_t got[MAX];
    fill(x, MAX, 4);
    fill(z, MAX, 5);
    for (size_t c = 0; c < ncopies; c++)
        for (size_t count = 1; count < 40; count += 1 + count / 18 * 3)
            for (size_t columns = 1; columns < 36; columns++) {
                const size_t odds = count - (count + columns) % 2, stride = columns + 2, row = 41;
                memset(got, 0x7f, sizeof got);
                copies[c].loops->pack_turned(count, odds, columns, x, z, stride, got, row);
                for (size_t i = 0; i < columns * row; i++) {
                    const size_t p = i % row, at = p * stride + i / row;
                    const uint32_t want =
                        p < count ? hr_bf16_pair(x[at], p < odds ? z[at] : 0) : 0x7f7f7f7f;
                    assert_int_equal(got[i], want);
                }
            }
}

static void check_sum(float got, float want)
{
    if (is_nan(hr_bf16_bits(want)))
        assert_true(is_nan(hr_bf16_bits(got)));
    else
        assert_int_equal(hr_bf16_bits(got), hr_bf16_bits(want));
}

/* Odd counts have a zero behind them; rows may be turned where they stand. */
static void every_copy_swaps_alike(void **state)
{
    (void)state;
    enum { WIDTH = 40 };
    static float x[MAX], z[MAX], got[MAX];
    const uint64_t mode = hr_fp_mode();
    fill(x, MAX, 8);
    fill(z, MAX, 9);
    hr_fp_flush_denormals();
    for (size_t c = 0; c < ncopies; c++)
        for (size_t n = 1; n <= WIDTH; n++) {
            const size_t rows = 1 + n % 9;
            memset(got, 0x7f, sizeof got);
            copies[c].loops->swap(n, x, got);
            for (size_t k = 0; k < n + n % 2; k++)
                check_sum(got[k ^ 1], k < n ? hr_bf16_round(x[k]) : 0);
            assert_int_equal(hr_bf16_bits(got[n + n % 2]), 0x7f7f7f7f);
            for (size_t way = 0; way < 4; way++) { /* without odd rows, with, in place, no gaps */
                const size_t width = way == 3 ? n : WIDTH, stride = way == 2 ? 2 * WIDTH : n + 1;
                memset(got, 0x7f, sizeof got);
                if (way == 2)
                    memcpy(got, x, 2 * rows * WIDTH * sizeof *x);
                const float *even = way == 2 ? got : x, *odd = way == 2 ? got + WIDTH : z;
                const float *of_odd = way == 2 ? x + WIDTH : z;
                copies[c].loops->swap_two(rows, n, even, way ? odd : NULL, stride, width, got);
                for (size_t i = 0; i < rows * n; i++) {
                    const size_t r = i / n, j = i % n, at = r * stride + j;
                    check_sum(got[2 * r * width + j], way ? hr_bf16_round(of_odd[at]) : 0);
                    check_sum(got[(2 * r + 1) * width + j], hr_bf16_round(x[at]));
                }
                if (way == 3)
                    assert_int_equal(hr_bf16_bits(got[2 * rows * n]), 0x7f7f7f7f);
            }
        }
    hr_fp_mode_set(mode);
}

/* --- sums --- */

/* Bits whose products and sums meet the edges: any, small, mostly special, whose products are about
 * the least normal number, half of that number's last bit, and near 1. */
static uint32_t edge_bits(uint64_t at, uint32_t sequence, unsigned kind)
{
    const uint32_t r = random_bits(at, sequence);
    switch (kind % 6) {
    case 0:
        return r;
    case 1:
        return r & 0x80ffffff;
    case 2:
        return (r & 0x807f0080) | (r & 0x300 ? 0 : 0x7f800000);
    case 3:
        return (r & 0x807fffff) | (60 + (r >> 24 & 7)) << 23;
    case 4:
        return (r & 1u << 31) | (127 - 78 + (r >> 24 & 7)) << 23;
    default:
        return (r & 0x807fffff) | (120 + (r >> 24 & 15)) << 23;
    }
}

static uint32_t edge_pair(uint64_t at, uint32_t sequence, unsigned kind)
{
    return edge_bits(2 * at, sequence, kind) >> 16 |
           (edge_bits(2 * at + 1, sequence, kind) & 0xffff0000);
}

/* To add to: as above, or close to the least normal number. */
static float edge_sum(uint64_t at, uint32_t sequence, unsigned kind)
{
    const uint32_t bits = edge_bits(at, sequence, kind);
    return hr_bf16_float(kind % 6 == 4 ? (bits & 1u << 31) | 0x00800000 | (bits >> 24 & 3) : bits);
}

static float flushed(float x)
{
    return (hr_bf16_bits(x) & 0x7f800000) == 0 ? copysignf(0, x) : x;
}

/* fmaf rounds denormals more coarsely than the contract; so a result that may be one is made a
 * thousand times larger first. */
static float fused(float a, float b, float c)
{
    a = flushed(a);
    b = flushed(b);
    c = flushed(c);
    const float sum = fmaf(a, b, c);
    if (!(fabsf(sum) < 0x1p-100f))
        return sum;
    const float large = fabsf(a) < 0x1p-40f ? fmaf(ldexpf(a, 40), b, ldexpf(c, 40))
                                            : fmaf(a, ldexpf(b, 40), ldexpf(c, 40));
    return fabsf(large) < 0x1p-86f ? copysignf(0, large) : ldexpf(large, -40);
}

static void one_pair_is_two_fused_multiply_adds(void **state)
{
    (void)state;
    const size_t count = check_count(400000, 4000000);
    for (size_t i = 0; i < count; i++) {
        const uint32_t a = edge_pair(i, 4, (unsigned)i), b = edge_pair(i, 5, (unsigned)i / 6);
        const float c = edge_sum(i, 6, (unsigned)i / 36);
        const float inner = fused(hr_bf16_odd(a), hr_bf16_odd(b), c);
        check_sum(hr_bf16_dot(a, b, c), fused(hr_bf16_even(a), hr_bf16_even(b), inner));
    }
}

/* What rounds up to the least normal number is one, by a hair. */
static void flushes_what_is_denormal_after_rounding(void **state)
{
    (void)state;
    const float below = hr_bf16_float(0x007fffff), least = 0x1p-126f;
    assert_true(hr_bf16_fma(1, 0, below) == 0);
    for (uint32_t c = 0x00800000; c < 0x00801000; c++)
        for (int e = -149; e < -126; e++) {
            const float a = -ldexpf(1, e / 2), b = ldexpf(1, e - e / 2), x = hr_bf16_float(c);
            check_sum(hr_bf16_fma(a, b, x), fused(a, b, x));
        }
    check_sum(hr_bf16_fma(-0x1p-75f, 0x1p-76f, least), least); /* half of a half: a tie */
    check_sum(hr_bf16_fma(-0x1p-75f, 0x1p-75f, least), 0);     /* the largest denormal */
    check_sum(hr_bf16_fma(0x1p-75f, 0x1p-75f, -least), -0.0f);
}

/* As two floats, the odd one first, in tiles that go on from c. */
static void tile_of_floats(const struct hr_blocks *blocks, const uint32_t *a, const uint32_t *b,
                           float *c)
{
    enum { ROWS = HR_BF16_ROWS, COLUMNS = HR_BF16_COLUMNS };
    float x[2 * ROWS], y[2 * COLUMNS];
    for (size_t n = 0; n < 2; n++) {
        for (size_t i = 0; i < ROWS; i++)
            x[n * ROWS + i] = n ? hr_bf16_even(a[i]) : hr_bf16_odd(a[i]);
        for (size_t j = 0; j < COLUMNS; j++)
            y[n * COLUMNS + j] = n ? hr_bf16_even(b[j]) : hr_bf16_odd(b[j]);
    }
    for (size_t i = 0; i < ROWS; i += blocks->rows)
        for (size_t j = 0; j < COLUMNS; j += blocks->width)
            blocks->tile(&(struct hr_block){.K = 2,
                                            .a = x + i,
                                            .a_row = 1,
                                            .a_step = ROWS,
                                            .b = y + j,
                                            .b_step = COLUMNS,
                                            .rows = blocks->rows,
                                            .columns = blocks->width,
                                            .c = c + i * COLUMNS + j,
                                            .c_row = COLUMNS,
                                            .go_on = true});
}

/* Tiles of one pair: 384 cases each. */
static void check_tile(const struct copy *copy, uint32_t number)
{
    uint32_t a[HR_BF16_ROWS], b[HR_BF16_COLUMNS];
    float c[HR_BF16_ROWS * HR_BF16_COLUMNS], got[HR_BF16_ROWS * HR_BF16_COLUMNS];
    const unsigned kind = number % 216;
    for (size_t i = 0; i < HR_BF16_ROWS; i++)
        a[i] = edge_pair(i, number, kind);
    for (size_t j = 0; j < HR_BF16_COLUMNS; j++)
        b[j] = edge_pair(j + 50, number, kind / 6);
    for (size_t i = 0; i < HR_BF16_ROWS * HR_BF16_COLUMNS; i++)
        c[i] = edge_sum(i + 500, number, kind / 36);
    memcpy(got, c, sizeof got);
    const struct hr_micro_bf16 micro = {.K = 1,
                                        .b = b,
                                        .columns = HR_BF16_COLUMNS,
                                        .c = got,
                                        .c_stride = HR_BF16_COLUMNS,
                                        .more = true};
    if (copy->blocks)
        tile_of_floats(copy->blocks, a, b, got);
    else
        copy->tiles->tile(&micro, a, HR_BF16_ROWS);
    for (size_t i = 0; i < HR_BF16_ROWS; i++)
        for (size_t j = 0; j < HR_BF16_COLUMNS; j++)
            check_sum(got[i * HR_BF16_COLUMNS + j],
                      hr_bf16_dot(a[i], b[j], c[i * HR_BF16_COLUMNS + j]));
}

/* More than a million cases a copy; the instruction looks at no mode. */
static void every_copy_sums_alike(void **state)
{
    (void)state;
    const uint64_t mode = hr_fp_mode();
    const uint32_t count = (uint32_t)check_count(2800, 28000);
    for (size_t n = 0; n < ncopies; n++)
        for (uint32_t number = 0; number < count; number++) {
            if (copies[n].blocks || number % 2)
                hr_fp_flush_denormals();
            check_tile(&copies[n], number);
            hr_fp_mode_set(mode);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_to_the_nearest),
        cmocka_unit_test(values_stay_what_they_are),
        cmocka_unit_test(every_copy_rounds_alike),
        cmocka_unit_test(every_copy_pairs_alike),
        cmocka_unit_test(every_copy_makes_the_same_panels),
        cmocka_unit_test(every_copy_turns_alike),
        cmocka_unit_test(every_copy_swaps_alike),
        cmocka_unit_test(one_pair_is_two_fused_multiply_adds),
        cmocka_unit_test(flushes_what_is_denormal_after_rounding),
        cmocka_unit_test(every_copy_sums_alike),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
