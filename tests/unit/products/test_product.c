/* Products of register tiles against the chain of multiply-adds that micro.h promises, bit by bit:
 * whatever the blocks, the edges, the packing and the threads. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpus.h"
#include "base/isa.h"
#include "base/philox.h"
#include "kernels/select.h"
#include "products/product.h"
#include "products/product_blocks.h"
#include "support/check.h"
#include "support/takes.h"

enum { MAX_FLOATS = 600 * 1100, MAX_C = 40000, MAX_THREADS = 3 };

static float a[MAX_FLOATS], b[MAX_FLOATS], bias[1000], got[MAX_C], want[MAX_C];
static bool fused;

static void fill(float *x, size_t count, uint32_t sequence)
{
    for (size_t i = 0; i < count; i++)
        x[i] =
            hr_random_unit(hr_random_block(check_seed(), HR_STREAM_TEST, i, sequence).v[0]) - 0.5f;
}

static int set_up(void **state)
{
    (void)state;
    fused = hr_isa() != HR_ISA_PLAIN && !hr_kernels_are_reference();
    fill(a, MAX_FLOATS, 0);
    fill(b, MAX_FLOATS, 1);
    fill(bias, sizeof bias / sizeof *bias, 2);
    return 0;
}

/* Bits of `way`: a, b, c stored the other way round; bias; relu. Rows are a little longer than
 * they need to be. */
static struct hr_product product_of(size_t rows, size_t columns, size_t K, unsigned way)
{
    struct hr_product p = {.rows = rows, .columns = columns, .K = K, .a = a, .b = b, .c = got};
    p.a_row = way & 1 ? 1 : K + 1;
    p.a_step = way & 1 ? rows + 1 : 1;
    p.b_step = way & 2 ? 1 : columns + 2;
    p.b_column = way & 2 ? K + 2 : 1;
    p.c_row = way & 4 ? 1 : columns + 3;
    p.c_column = way & 4 ? rows + 3 : 1;
    p.bias = way & 8 ? bias : NULL;
    p.relu = way & 16;
    p.threads = 1;
    assert_true((rows + 1) * (K + 1) <= MAX_FLOATS && (columns + 2) * (K + 2) <= MAX_FLOATS);
    return p;
}

static void follow(const struct hr_product *p)
{
    for (size_t i = 0; i < p->rows; i++)
        for (size_t j = 0; j < p->columns; j++) {
            float sum = 0;
            for (size_t k = 0; k < p->K; k++) {
                const float x = p->a[i * p->a_row + k * p->a_step];
                const float y = p->b[k * p->b_step + j * p->b_column];
                const float product = x * y;
                sum = fused ? fmaf(x, y, sum) : sum + product;
            }
            if (p->bias)
                sum = sum + p->bias[p->c_column == 1 ? j : i];
            want[i * p->c_row + j * p->c_column] = p->relu && sum < 0 ? 0 : sum;
        }
}

static void run_in(struct hr_product *p, float *c)
{
    p->scratch = aligned_alloc(64, hr_product_scratch_bytes(p->K, p->threads));
    assert_non_null(p->scratch);
    memset(p->scratch, 0xff, hr_product_scratch_bytes(p->K, p->threads));
    p->c = c;
    hr_product(p);
    free(p->scratch);
}

static void run(struct hr_product *p, float *c)
{
    memset(c, 0x7f, MAX_C * sizeof *c); /* what is between the rows of c stays */
    run_in(p, c);
}

static void check(size_t rows, size_t columns, size_t K, unsigned way)
{
    struct hr_product p = product_of(rows, columns, K, way);
    assert_true((rows + 3) * (columns + 3) <= MAX_C && (rows + 2) * (K + 2) <= MAX_FLOATS &&
                (columns + 2) * (K + 2) <= MAX_FLOATS);
    memset(want, 0x7f, sizeof want);
    follow(&p);
    run(&p, got);
    for (size_t i = 0; i < MAX_C; i++)
        if (memcmp(&got[i], &want[i], sizeof *got) != 0) {
            print_error("%zu x %zu x %zu, way %u\n", rows, columns, K, way);
            break;
        }
    CHECK_SAME_FLOATS(got, want, MAX_C);
}

/* Both sides of a tile's rows, of a group of packed rows, of one and of several panels. */
static void every_element_is_its_own_chain(void **state)
{
    (void)state;
    static const size_t rows[] = {1, 2, 3, 4, 5, 6, 7, 8, 11, 14, 48, 49, 50, 56, 61, 72, 73, 98};
    static const size_t columns[] = {1, 3, 4, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65, 67, 97, 131};
    static const size_t lengths[] = {1, 2, 3, 5, 8, 13};
    unsigned way = 0;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
            for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++, way += 7)
                check(rows[r], columns[c], lengths[k], way % 32);
}

/* A vector with a matrix: both sides of a square of every set's. */
static void one_row_is_its_own_chains(void **state)
{
    (void)state;
    static const size_t columns[] = {1, 4, 7, 15, 16, 17, 33, 150},
                        lengths[] = {1, 4, 7, 16, 31, 999};
    for (unsigned way = 0; way < 32; way++)
        for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
            for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
                check(1, columns[c], lengths[k], way);
}

static void every_way_of_storing_gives_the_same(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 32; way++) {
        check(23, 71, 37, way);
        check(103, 130, 4, way);
    }
}

/* Both sides of the blocks of k and of rows, and of what a tile can move of the next panel. */
static void blocks_change_no_bit(void **state)
{
    (void)state;
    static const size_t lengths[] = {1000, 1023, 1024, 1025, 1032, 2047, 2049, 3080};
    for (unsigned way = 0; way < 8; way++) {
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
            check(13 + k, 150, lengths[k], way);
        check(9, 17, 9000, way);
        check(23, 64, 1030, way | 24);
    }
    for (unsigned way = 0; way < 4; way++)
        for (size_t rows = 191; rows <= 194; rows++) {
            check(rows, 97, 3, way);
            check(2 * rows + 14, 33, 1025, way);
            check(rows + 72, 65, 70, way);
        }
}

/* Blocks of the sizes of five machines, from 8 KiB and 32 KiB up to 128 KiB and 4 MiB. */
static void caches_change_no_bit(void **state)
{
    (void)state;
    for (uint32_t machine = 0; machine < 5; machine++) {
        const struct hr_philox drawn = hr_random_block(check_seed(), HR_STREAM_TEST, machine, 3);
        hr_product_blocks_fit((size_t)8192 << drawn.v[0] % 5, (size_t)32768 << drawn.v[1] % 8);
        const struct hr_product_block_sizes sizes = hr_product_block_sizes(false);
        for (unsigned way = 0; way < 4; way++) {
            check(70, 520, 700, way);
            check(37, 515, 1100, way | 8);
            check(sizes.rows % 300 + 13, 66, sizes.k % 1000 + 9, way);
        }
    }
    hr_product_blocks_fit(hr_cpus_cache_of_core(1), hr_cpus_cache_of_core(2));
}

/* Operands that end where their memory does: AddressSanitizer watches. */
static void nothing_is_read_behind_the_end(void **state)
{
    (void)state;
    static const size_t shapes[][3] = {{13, 32, 9},    {25, 64, 40}, {48, 96, 33}, {64, 10, 100},
                                       {31, 33, 1025}, {14, 31, 1},  {1, 37, 23}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (unsigned way = 0; way < 4; way++) {
            const size_t M = shapes[s][0], N = shapes[s][1], K = shapes[s][2];
            struct hr_product p = product_of(M, N, K, way);
            float *const x = malloc(M * K * sizeof *x), *const y = malloc(K * N * sizeof *y);
            assert_true(x && y);
            memcpy(x, a, M * K * sizeof *x);
            memcpy(y, b, K * N * sizeof *y);
            p.a = x, p.a_row = way & 1 ? 1 : K, p.a_step = way & 1 ? M : 1;
            p.b = y, p.b_step = way & 2 ? 1 : N, p.b_column = way & 2 ? K : 1;
            memset(want, 0x7f, sizeof want);
            follow(&p);
            run(&p, got);
            CHECK_SAME_FLOATS(got, want, MAX_C);
            free(x), free(y);
        }
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    static const size_t shapes[][3] = {
        {200, 150, 16}, {7, 150, 1000},  {151, 7, 900},
        {2, 150, 999},  {90, 200, 1100}, {1, 150, 999},
    };
    static float alone[MAX_C];
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (unsigned way = 0; way < 32; way++) {
            struct hr_product p = product_of(shapes[s][0], shapes[s][1], shapes[s][2], way);
            run(&p, alone);
            for (p.threads = 2; p.threads <= MAX_THREADS; p.threads++) {
                run(&p, got);
                CHECK_SAME_FLOATS(got, alone, MAX_C);
            }
        }
}

/* Both sides of what is taken at a time; a large c comes in pieces where sums have one block of k.
 */
static void what_is_taken_is_the_same(void **state)
{
    (void)state;
    enum { MOST = 530 * 605 };
    static const size_t shapes[][3] = {{300, 60, 9},   {10, 300, 40},  {530, 515, 20},
                                       {515, 520, 3},  {400, 700, 17}, {460, 572, 1030},
                                       {500, 600, 700}};
    static float alone[MOST], c[MOST], taken[MOST + 5];
    struct takes takes;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (unsigned way = 0; way < 32; way += way & 3 ? 1 : 5) {
            struct hr_product p = product_of(shapes[s][0], shapes[s][1], shapes[s][2], way & ~4u);
            const size_t count = p.rows * p.c_row;
            assert_true(count <= MOST);
            memset(alone, 0x7f, sizeof alone);
            run_in(&p, alone);
            p.taken_at = 5;
            p.threads = 1 + way % 2;
            const struct hr_taker taker = takes_into(&takes, taken, MOST + 5, a);
            p.taker = &taker;
            run_in(&p, c);
            CHECK_SAME_FLOATS(taken + p.taken_at, alone, MOST);
            const bool in_pieces = p.threads == 1 && p.K <= 1024 && p.rows * p.columns >= 1 << 18;
            assert_true(takes.pieces == 1 || in_pieces);
            if (fused && in_pieces)
                assert_true(takes.pieces > 1);
        }
}

static void relu_keeps_what_is_no_number(void **state)
{
    (void)state;
    const float before = b[0];
    b[0] = NAN;
    for (unsigned way = 0; way < 8; way++) {
        struct hr_product p = product_of(9, 9, 5, way | 16);
        run(&p, got);
        for (size_t i = 0; i < 9; i++)
            assert_true(isnan(got[i * p.c_row]));
        assert_true(!isnan(got[p.c_column]));
    }
    b[0] = before;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_element_is_its_own_chain),
        cmocka_unit_test(one_row_is_its_own_chains),
        cmocka_unit_test(every_way_of_storing_gives_the_same),
        cmocka_unit_test(blocks_change_no_bit),
        cmocka_unit_test(caches_change_no_bit),
        cmocka_unit_test(nothing_is_read_behind_the_end),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(what_is_taken_is_the_same),
        cmocka_unit_test(relu_keeps_what_is_no_number),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
