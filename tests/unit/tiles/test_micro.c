/* The register tile of each instruction set against a loop that follows the definition; the fused
 * multiply-add is spelled out, so that equality is exact. */
#include <math.h>
#include <string.h>

#include "base/philox.h"
#include "kernels/bf16.h"
#include "products/gemm_naive.h"
#include "support/check.h"
#include "tiles/micro.h"

enum { ROWS = HR_MICRO_ROWS, WIDTH = HR_MICRO_MAX_COLUMNS, MAX_K = 67, STRIDE = 40, STEP = 9 };

static float a[ROWS][MAX_K * STEP], b[MAX_K * STRIDE], bias[WIDTH], old[ROWS * STRIDE];
static float got[ROWS * STRIDE], want[ROWS * STRIDE];
static uint32_t offset[MAX_K];

struct copy {
    const struct hr_tiles *table;
    bool fused;
};

/* The copies that this machine can run; returns how many. */
static size_t runnable(struct copy out[3])
{
    static const struct hr_tiles *const tables[] = {HR_ISA_COPIES(hr_tiles)};
    for (size_t level = 0; level <= hr_isa(); level++)
        out[level] = (struct copy){tables[level], level != HR_ISA_PLAIN};
    return hr_isa() + 1;
}

static void fill(float *x, size_t count, uint32_t sequence)
{
    for (size_t i = 0; i < count; i++)
        x[i] =
            hr_random_unit(hr_random_block(check_seed(), HR_STREAM_TEST, i, sequence).v[0]) - 0.5f;
}

static void fill_all(void)
{
    fill(a[0], sizeof a / sizeof(float), 0);
    fill(b, sizeof b / sizeof *b, 1);
    fill(bias, WIDTH, 2);
    fill(old, sizeof old / sizeof *old, 3);
    for (size_t k = 0; k < MAX_K; k++)
        offset[k] = (uint32_t)((k * 31) % (MAX_K * STEP));
}

/* The definition, into `want`. */
static void follow(const struct hr_micro *micro, bool fused)
{
    for (size_t i = 0; i < micro->rows; i++)
        for (size_t j = 0; j < micro->columns; j++) {
            float sum = micro->go_on ? want[i * STRIDE + j] : 0;
            for (size_t k = 0; k < micro->K; k++) {
                const float x = micro->a[i][micro->offset ? micro->offset[k] : k * micro->a_step];
                const float y = micro->b[k * micro->b_stride + j];
                const float product = x * y;
                sum = fused ? fmaf(x, y, sum) : sum + product;
            }
            if (micro->bias)
                sum = sum + micro->bias[j];
            if (micro->round)
                sum = hr_bf16_round(sum);
            if (micro->relu && sum < 0)
                sum = 0;
            float *c = &want[i * STRIDE + j];
            *c = micro->add ? *c + sum : sum;
        }
}

static void check_tile(const struct copy *copy, struct hr_micro micro)
{
    memcpy(got, old, sizeof got);
    memcpy(want, old, sizeof want);
    copy->table->tile(&micro);
    follow(&micro, copy->fused);
    CHECK_SAME_FLOATS(got, want, ROWS * STRIDE); /* what is outside the tile is as it was */
}

/* Bits of `way`: offsets, steps, bias, relu, add, rounding, a chain that goes on. */
static void check_way(const struct copy *copy, size_t K, size_t rows, size_t columns, unsigned way)
{
    struct hr_micro micro = {
        .K = K,
        .offset = way & 1 ? offset : NULL,
        .a_step = way & 2 ? 1 : STEP,
        .b = b,
        .b_stride = STRIDE,
        .rows = rows,
        .columns = columns,
        .c = got,
        .c_stride = STRIDE,
        .bias = way & 4 ? bias : NULL,
        .relu = way & 8,
        .add = (way & 12) == 0 && way & 16,
        .round = way & 32,
        .go_on = (way & 16) == 0 && way & 64,
    };
    for (size_t i = 0; i < ROWS; i++)
        micro.a[i] = a[i];
    check_tile(copy, micro);
}

static void tiles_are_what_the_definition_says(void **state)
{
    (void)state;
    static const size_t lengths[] = {0, 1, 2, 9, MAX_K};
    struct copy copies[3];
    fill_all();
    for (size_t n = runnable(copies); n-- > 0;)
        for (size_t k = 0; k < 5; k++)
            for (size_t rows = 1; rows <= ROWS; rows++)
                for (size_t columns = 1; columns <= copies[n].table->columns; columns++)
                    for (unsigned way = 0; way < 128; way++)
                        check_way(&copies[n], lengths[k], rows, columns, way);
}

static void whole_tiles_are_what_the_definition_says(void **state)
{
    (void)state;
    struct copy copies[3];
    fill_all();
    for (size_t n = runnable(copies); n-- > 0;)
        for (unsigned way = 0; way < 128; way++)
            for (size_t rows = HR_MICRO_FEW_ROWS; rows <= ROWS; rows += 2)
                check_way(&copies[n], MAX_K, rows, copies[n].table->columns, way);
}

static void strips_are_tiles_side_by_side(void **state)
{
    (void)state;
    struct copy copies[3];
    fill_all();
    for (size_t n = runnable(copies); n-- > 0;)
        for (size_t columns = 1; columns <= STRIDE; columns++) {
            const size_t width = copies[n].table->columns;
            struct hr_micro micro = {.K = 11, .a_step = STEP, .b_stride = STRIDE, .rows = 5};
            micro.c_stride = STRIDE;
            memcpy(got, old, sizeof got);
            memcpy(want, old, sizeof want);
            for (size_t i = 0; i < ROWS; i++)
                micro.a[i] = a[i];
            for (size_t j = 0; j < columns; j += width) {
                micro.b = b + j / width * 3;
                micro.bias = columns <= WIDTH ? bias + j : NULL;
                micro.columns = columns - j < width ? columns - j : width;
                micro.c = want + j;
                copies[n].table->tile(&micro);
            }
            micro.b = b;
            micro.bias = columns <= WIDTH ? bias : NULL;
            micro.columns = columns;
            micro.c = got;
            copies[n].table->strip(&micro, 3);
            CHECK_SAME_FLOATS(got, want, ROWS * STRIDE);
        }
}

static void relu_keeps_what_is_no_number(void **state)
{
    (void)state;
    struct copy copies[3];
    fill_all();
    b[3] = NAN;
    for (size_t n = runnable(copies); n-- > 0;) {
        check_way(&copies[n], 4, ROWS, copies[n].table->columns, 8);
        assert_true(isnan(got[3]));
    }
}

static void the_plain_tile_gives_the_bits_of_the_reference_product(void **state)
{
    (void)state;
    enum { N = 8 };
    float panel[MAX_K * N];
    fill_all();
    for (size_t i = 0; i < MAX_K * N; i++)
        panel[i] = b[i];
    for (size_t i = 1; i < ROWS; i++)
        memcpy(a[0] + i * MAX_K, a[i], MAX_K * sizeof(float));
    hr_gemm_naive_nn(ROWS, N, MAX_K, a[0], panel, want);
    struct hr_micro micro = {.K = MAX_K,
                             .a_step = 1,
                             .b = panel,
                             .b_stride = N,
                             .rows = ROWS,
                             .columns = N,
                             .c = got,
                             .c_stride = N};
    for (size_t i = 0; i < ROWS; i++)
        micro.a[i] = a[0] + i * MAX_K;
    hr_tiles_plain.tile(&micro);
    CHECK_SAME_FLOATS(got, want, ROWS * N);
}

/* The same tiles by hand: c (nrows, columns) is made of rows of a[0] that begin at row[i]. */
static void follow_tall(const struct hr_tiles *table, struct hr_micro micro, const uint32_t *row,
                        size_t nrows)
{
    for (size_t first = 0; first < nrows; first += ROWS, micro.c += ROWS * micro.c_stride) {
        micro.rows = nrows - first < ROWS ? nrows - first : ROWS;
        for (size_t i = 0; i < ROWS; i++)
            micro.a[i] = a[0] + row[first + (i < micro.rows ? i : 0)];
        table->tile(&micro);
    }
}

static void tall_tiles_are_tiles_one_below_the_other(void **state)
{
    (void)state;
    enum { MAX_ROWS = 14 };
    static float tall[MAX_ROWS * STRIDE], tiles[MAX_ROWS * STRIDE];
    uint32_t row[MAX_ROWS];
    struct copy copies[3];
    fill_all();
    for (uint32_t i = 0; i < MAX_ROWS; i++)
        row[i] = (i * 17) % MAX_K;
    for (size_t n = runnable(copies); n-- > 0;)
        for (size_t nrows = 0; nrows <= MAX_ROWS; nrows++)
            for (size_t columns = 1; columns <= copies[n].table->columns; columns++) {
                struct hr_micro micro = {.K = MAX_K,
                                         .offset = offset,
                                         .b = b,
                                         .b_stride = STRIDE,
                                         .columns = columns,
                                         .c = tall,
                                         .c_stride = STRIDE,
                                         .bias = bias};
                memset(tall, 0, sizeof tall);
                memset(tiles, 0, sizeof tiles);
                copies[n].table->tall(&micro, a[0], row, nrows);
                micro.c = tiles;
                follow_tall(copies[n].table, micro, row, nrows);
                CHECK_SAME_FLOATS(tall, tiles, MAX_ROWS * STRIDE);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_are_what_the_definition_says),
        cmocka_unit_test(whole_tiles_are_what_the_definition_says),
        cmocka_unit_test(strips_are_tiles_side_by_side),
        cmocka_unit_test(relu_keeps_what_is_no_number),
        cmocka_unit_test(tall_tiles_are_tiles_one_below_the_other),
        cmocka_unit_test(the_plain_tile_gives_the_bits_of_the_reference_product),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
