/* Products of bfloat16 values against the chain of pairs that bf16.h promises, bit by bit: whatever
 * the blocks, the edges, the forms, the threads, the instruction set and the thread's mode. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/isa.h"
#include "base/philox.h"
#include "base/size.h"
#include "kernels/bf16.h"
#include "products/product_amx.h"
#include "products/product_bf16.h"
#include "support/amx_twin.h"
#include "support/check.h"
#include "support/takes.h"
#include "tiles/micro_bf16.h"

enum { MAX_FLOATS = 1 << 18, MAX_C = 1 << 16, MAX_THREADS = 3 };

static bool as_amx; /* the order of sums */
static float a[MAX_FLOATS], b[MAX_FLOATS], bias[1000], got[MAX_C], want[MAX_C];

static void fill(float *x, size_t count, uint32_t sequence)
{
    for (size_t i = 0; i < count; i++)
        x[i] =
            hr_random_unit(hr_random_block(check_seed(), HR_STREAM_TEST, i, sequence).v[0]) - 0.5f;
}

static int set_up(void **state)
{
    (void)state;
    fill(a, MAX_FLOATS, 0);
    fill(b, MAX_FLOATS, 1);
    fill(bias, sizeof bias / sizeof *bias, 2);
    for (size_t i = 0; i < MAX_FLOATS; i += 37) /* sums that are denormal, and some that are none */
        a[i] = b[i + i % 7] = i % 3 ? 0x1p-70f : -0x1p-63f;
    return 0;
}

/* Products of such values, and short sums, are between 2^-140 and 2^-108: what is denormal is zero
 * in one copy as in the other, be it a product, a sum on its way, or a result. */
static void fill_near_least(float *x, size_t count, uint32_t sequence)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t r = hr_random_block(check_seed(), HR_STREAM_TEST, i, sequence).v[0];
        x[i] = hr_bf16_float((r & 0x807fffff) | (127 - 70 + (r >> 23) % 16) << 23);
    }
}

static int near_least(void **state)
{
    (void)state;
    fill_near_least(a, MAX_FLOATS, 5);
    fill_near_least(b, MAX_FLOATS, 6);
    fill_near_least(bias, sizeof bias / sizeof *bias, 7);
    for (size_t i = 0; i < sizeof bias / sizeof *bias; i++)
        bias[i] *= 0x1p-50f; /* 2^-120 to 2^-105: normal, where K is 0, too */
    return 0;
}

/* Bits of `way` above the form: bias; relu; rounded. Rows are a little longer than they need to
 * be. */
static struct hr_gemm gemm_of(size_t M, size_t N, size_t K, unsigned way)
{
    struct hr_gemm g = {.form = (enum hr_gemm_form)(way % 3), .M = M, .N = N, .K = K};
    g.a = a;
    g.b = b;
    g.a_row = (g.form == HR_GEMM_TN ? M : K) + 1;
    g.b_row = (g.form == HR_GEMM_NT ? K : N) + 2;
    g.c_row = N + 3;
    g.bias = way / 3 & 1 ? bias : NULL;
    g.relu = way / 3 & 2;
    g.threads = 1;
    assert_true(M * g.c_row <= MAX_C && M * (K + 1) + M <= MAX_FLOATS &&
                N * (K + 2) + K <= MAX_FLOATS);
    return g;
}

static uint32_t pair_of(const struct hr_gemm *g, bool of_a, size_t row, size_t k)
{
    const float *from = of_a ? g->a : g->b;
    const bool along = of_a ? g->form != HR_GEMM_TN : g->form == HR_GEMM_NT;
    const size_t stride = of_a ? g->a_row : g->b_row;
    const size_t step = along ? 1 : stride, at = along ? row * stride : row;
    return hr_bf16_pair(from[at + k * step], k + 1 < g->K ? from[at + (k + 1) * step] : 0);
}

static float in_pairs(const struct hr_gemm *g, size_t i, size_t j)
{
    float sum = 0;
    for (size_t k = 0; k < g->K; k += 2)
        sum = hr_bf16_dot(pair_of(g, true, i, k), pair_of(g, false, j, k), sum);
    return sum;
}

static float in_chunks(const struct hr_gemm *g, size_t i, size_t j)
{
    float sum = 0;
    for (size_t k = 0; k < g->K; k += 2 * AMX_PAIRS) {
        uint32_t x[AMX_PAIRS] = {0}, y[AMX_PAIRS] = {0};
        for (size_t p = 0; p < AMX_PAIRS && k + 2 * p < g->K; p++) {
            x[p] = pair_of(g, true, i, k + 2 * p);
            y[p] = pair_of(g, false, j, k + 2 * p);
        }
        sum = amx_chunk(x, y, AMX_PAIRS, sum);
    }
    return sum;
}

static void follow(const struct hr_gemm *g, bool round)
{
    for (size_t i = 0; i < g->M; i++)
        for (size_t j = 0; j < g->N; j++) {
            float sum = as_amx ? in_chunks(g, i, j) : in_pairs(g, i, j);
            if (g->bias)
                sum = hr_bf16_fma(1, sum, g->bias[j]); /* a sum; denormals are zeros */
            sum = round ? hr_bf16_round(sum) : sum;
            want[i * g->c_row + j] = g->relu && sum < 0 ? 0 : sum;
        }
}

static void run_in(struct hr_gemm *g, bool round, float *c)
{
    const size_t bytes =
        hr_round_up(hr_product_bf16_scratch_bytes(g->M, g->K, g->threads), 64) + 64;
    g->scratch = aligned_alloc(64, bytes);
    assert_non_null(g->scratch);
    memset(g->scratch, 0xff, bytes);
    g->c = c;
    hr_gemm_bf16(g, round);
    free(g->scratch);
}

static void run(struct hr_gemm *g, bool round, float *c)
{
    memset(c, 0x7f, MAX_C * sizeof *c); /* what is between the rows of c stays */
    run_in(g, round, c);
}

static void check(size_t M, size_t N, size_t K, unsigned way)
{
    struct hr_gemm g = gemm_of(M, N, K, way);
    memset(want, 0x7f, sizeof want);
    follow(&g, way / 12 & 1);
    run(&g, way / 12 & 1, got);
    if (memcmp(got, want, sizeof got) != 0)
        print_error("%zu x %zu x %zu, way %u\n", M, N, K, way);
    CHECK_SAME_FLOATS(got, want, MAX_C);
}

/* Both sides of a tile's rows and columns, and of a pair. */
static void every_element_is_its_own_chain(void **state)
{
    (void)state;
    static const size_t rows[] = {1, 2, 4, 5, 8, 9, 11, 12, 13, 16, 20, 24, 25, 37};
    static const size_t columns[] = {1, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 63, 65};
    static const size_t lengths[] = {0, 1, 2, 3, 5, 8, 13, 33};
    unsigned way = 0;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
            for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++, way += 7)
                check(rows[r], columns[c], lengths[k], way % 24);
}

static void random_shapes_do_too(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < check_count(300, 3000); i++) {
        const uint32_t *r = hr_random_block(check_seed(), HR_STREAM_TEST, i, 9).v;
        check(1 + r[0] % 70, 1 + r[1] % 100, r[2] % 130, r[3] % 24);
    }
}

/* Sums longer than a piece, and more rows than a block has. */
static void pieces_and_blocks_change_no_bit(void **state)
{
    (void)state;
    static const size_t shapes[][3] = {{13, 70, 447},  {13, 33, 448},  {25, 20, 449},
                                       {7, 40, 1345},  {3, 5, 20001},  {599, 33, 433},
                                       {650, 17, 350}, {1300, 40, 190}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (unsigned way = 0; way < 24; way += way < 3 ? 1 : 11)
            check(shapes[s][0], shapes[s][1], shapes[s][2], way);
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    static const size_t shapes[][3] = {
        {200, 150, 16}, {7, 150, 1000}, {151, 7, 900}, {2, 150, 999}};
    static float alone[MAX_C];
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (unsigned way = 0; way < 24; way++) {
            struct hr_gemm g = gemm_of(shapes[s][0], shapes[s][1], shapes[s][2], way);
            run(&g, way / 12 & 1, alone);
            for (g.threads = 2; g.threads <= MAX_THREADS; g.threads++) {
                run(&g, way / 12 & 1, got);
                CHECK_SAME_FLOATS(got, alone, MAX_C);
            }
        }
}

/* Who takes c does so in the mode of the caller. */
static void takes_in_its_mode(void *arg, const struct hr_final_piece *piece)
{
    const volatile float least = 0x1p-126f;
    assert_true(fpclassify(least / 2) == FP_SUBNORMAL);
    takes_take(arg, piece);
}

/* Both sides of a strip, of those that are packed together, and of the panels that are kept; small
 * arrays, and sums of several pieces, are taken whole. */
static void what_is_taken_is_the_same(void **state)
{
    (void)state;
    enum { MOST = 1 << 19 };
    static const size_t shapes[][3] = {{1, 5, 0},       {11, 65, 1},    {97, 400, 33},
                                       {541, 529, 4},   {265, 1030, 9}, {37, 7100, 2},
                                       {530, 500, 433}, {40, 6600, 34}, {300, 900, 449}};
    static float alone[MOST], c[MOST], taken[MOST + 7], x[MOST], y[MOST];
    struct takes takes;
    fill(x, MOST, 3);
    fill(y, MOST, 4);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (unsigned way = 0; way < 24; way += 1 + way % 2) {
            const size_t M = shapes[s][0], N = shapes[s][1], K = shapes[s][2];
            struct hr_gemm g = {.form = (enum hr_gemm_form)(way % 3), .M = M, .N = N, .K = K};
            g.a = x, g.b = y, g.c_row = N + 3, g.relu = way / 3 & 2, g.threads = 1;
            g.bias = way / 3 & 1 ? y + 5 : NULL;
            assert_true(M * g.c_row <= MOST && M * K <= MOST && N * K <= MOST);
            memset(alone, 0x7f, sizeof alone);
            run_in(&g, way / 12 & 1, alone);
            struct hr_taker taker = takes_into(&takes, taken, MOST + 7, x);
            taker.take = takes_in_its_mode;
            g.taker = &taker;
            g.taken_at = 7;
            run_in(&g, way / 12 & 1, c);
            CHECK_SAME_FLOATS(taken + g.taken_at, alone, MOST);
            assert_int_equal(takes.pieces > 1,
                             K && (hr_bf16_as_floats() || K <= HR_PRODUCT_BF16_TAKEN) &&
                                 M * N >= 1 << 18);
        }
}

/* The caller's mode is not used, and is given back. */
static void flushes_in_any_mode(void **state)
{
    (void)state;
    const uint64_t mode = hr_fp_mode();
    static float before[MAX_C];
    for (unsigned way = 0; way < 24; way++) {
        struct hr_gemm g = gemm_of(30, 50, 3, way);
        g.bias = way / 3 & 1 ? (float[50]){0x1p-130f, -0x1p-127f, 0x1p-126f} : NULL;
        run(&g, false, before);
        assert_true(hr_fp_mode() == mode);
        hr_fp_flush_denormals();
        run(&g, false, got);
        hr_fp_mode_set(mode);
        CHECK_SAME_FLOATS(got, before, MAX_C);
        for (size_t i = 0; i < MAX_C; i++)
            assert_true(fpclassify(got[i]) != FP_SUBNORMAL);
    }
}

static void relu_keeps_what_is_no_number(void **state)
{
    (void)state;
    const float before = b[0];
    b[0] = NAN;
    for (unsigned way = 0; way < 24; way++) {
        struct hr_gemm g = gemm_of(9, 9, 5, way);
        run(&g, way / 12 & 1, got);
        for (size_t i = 0; i < 9; i++)
            assert_true(isnan(got[i * g.c_row]) && !isnan(got[i * g.c_row + 1]));
    }
    b[0] = before;
}

static void sums_near_the_least_number_are_their_chains(void **state)
{
    size_t zeros = 0, others = 0;
    near_least(state);
    every_element_is_its_own_chain(state);
    random_shapes_do_too(state);
    check(64, 64, 1, 0);
    for (size_t i = 0; i < 64; i++)
        zeros += got[i] == 0, others += got[i] != 0;
    set_up(state);
    assert_true(zeros > 9 && others > 9);
}

/* The machine's, then v4, v3, plain, as far as it has them, in both orders. Levels are lowered one
 * by one, so this is the last test. */
static void every_instruction_set_gives_the_same_bits(void **state)
{
    (void)state;
    static const size_t shapes[][3] = {{13, 33, 449}, {64, 64, 64}, {31, 100, 77}, {5, 3, 2}};
    static float best[2][2][4][24][2000];
    const int levels = (int)hr_isa() + 2;
    for (int n = 0; n < 2 * levels; n++) {
        const size_t least = n % 2;
        if (n > 1)
            hr_isa_lower((enum hr_isa)(levels - 1 - n / 2));
        (least ? near_least : set_up)(state);
        for (size_t s = 0; s < 4 * 2 * 24; s++) {
            const size_t order = s % 2, shape = s / 2 % 4, way = s / 8;
            struct hr_gemm g =
                gemm_of(shapes[shape][0], shapes[shape][1], shapes[shape][2], (unsigned)way);
            hr_isa_sum_as_amx(order);
            run(&g, way / 12 & 1, got);
            if (n < 2)
                memcpy(best[least][order][shape][way], got, sizeof best[0][0][0][0]);
            else
                CHECK_SAME_FLOATS(got, best[least][order][shape][way], 2000);
        }
    }
}

static int set_up_in_order(void **state)
{
    hr_isa_sum_as_amx(as_amx);
    return set_up(state);
}

static int set_up_as_amx(void **state)
{
    as_amx = !hr_kernels_are_reference();
    return set_up_in_order(state);
}

static int set_up_in_pairs(void **state)
{
    as_amx = false;
    return set_up_in_order(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_element_is_its_own_chain),
        cmocka_unit_test(random_shapes_do_too),
        cmocka_unit_test(pieces_and_blocks_change_no_bit),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(what_is_taken_is_the_same),
        cmocka_unit_test(flushes_in_any_mode),
        cmocka_unit_test(relu_keeps_what_is_no_number),
        cmocka_unit_test(sums_near_the_least_number_are_their_chains),
    };
    const struct CMUnitTest last[] = {
        cmocka_unit_test(every_instruction_set_gives_the_same_bits),
    };
    print_message("%s\n", hr_bf16_name());
    return cmocka_run_group_tests_name("AMX's order", tests, set_up_as_amx, NULL) +
           cmocka_run_group_tests_name("pairs", tests, set_up_in_pairs, NULL) +
           cmocka_run_group_tests_name("levels", last, NULL, NULL);
}
