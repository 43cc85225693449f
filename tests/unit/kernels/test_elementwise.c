/* The elementwise kernels of each instruction set against loops that follow the definitions, bit
 * by bit. */
#include <math.h>
#include <string.h>

#include "base/philox.h"
#include "kernels/elementwise.h"
#include "support/check.h"

enum { MAX_B = 65, MAX_O = 131, MAX_COUNT = MAX_B * MAX_O };

static float x[MAX_COUNT], d[MAX_COUNT], got[MAX_COUNT], want[MAX_COUNT], bias[MAX_O];

/* Reals around 0, and each value that a comparison may treat in its own way. */
static void fill_with_reals(void)
{
    const float special[] = {0.0f, -0.0f, NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < MAX_COUNT; i++) {
        const struct hr_philox r = hr_random_block(check_seed(), HR_STREAM_TEST, i, 0);
        x[i] = i % 11 < 5 ? special[i % 11] : hr_random_unit(r.v[0]) - 0.5f;
        d[i] = hr_random_unit(r.v[1]) - 0.5f;
    }
    for (size_t o = 0; o < MAX_O; o++)
        bias[o] = d[MAX_COUNT - 1 - o] * 0.1f;
}

/* This machine can run hr_isa() + 1 of them. */
static const struct hr_elementwise *const tables[] = {HR_ISA_COPIES(hr_elementwise)};

static const size_t shapes[][2] = {{0, 5}, {5, 0}, {1, 1}, {3, 7}, {64, 10}, {MAX_B, MAX_O}};
enum { NSHAPES = sizeof shapes / sizeof *shapes };

typedef void (*shape_fn)(const struct hr_elementwise *table, size_t B, size_t O);

static void for_each_table_and_shape(shape_fn check)
{
    fill_with_reals();
    for (size_t n = hr_isa() + 1; n-- > 0;)
        for (size_t s = 0; s < NSHAPES; s++)
            check(tables[n], shapes[s][0], shapes[s][1]);
}

static void check_bias(const struct hr_elementwise *table, size_t B, size_t O)
{
    for (size_t i = 0; i < B * O; i++)
        want[i] = x[i] + bias[i % O];
    memcpy(got, x, sizeof got);
    table->bias_add(B, O, bias, got);
    CHECK_SAME_FLOATS(got, want, B * O);
    for (size_t i = 0; i < B * O; i++)
        want[i] = want[i] < 0 ? 0.0f : want[i];
    memcpy(got, x, sizeof got);
    table->bias_relu(B, O, bias, got);
    CHECK_SAME_FLOATS(got, want, B * O);
}

static void bias_and_relu_in_one_pass_are_the_two_in_turn(void **state)
{
    (void)state;
    for_each_table_and_shape(check_bias);
}

static void check_sum(const struct hr_elementwise *table, size_t B, size_t O)
{
    for (int with_relu = 0; with_relu < 2; with_relu++) {
        for (size_t i = 0; i < B * O; i++) {
            want[i] = x[i] + d[i];
            want[i] = with_relu && want[i] < 0 ? 0.0f : want[i];
        }
        memcpy(got, x, sizeof got);
        table->sum(B * O, got, d, with_relu, got);
        CHECK_SAME_FLOATS(got, want, B * O);
    }
}

static void a_sum_is_written_where_its_first_stands_and_perhaps_through_relu(void **state)
{
    (void)state;
    for_each_table_and_shape(check_sum);
}

/* x is the output of relu here: what it lets through is what is above 0, or no number. */
static void check_sum_backward(const struct hr_elementwise *table, size_t B, size_t O)
{
    static float second[MAX_COUNT];
    for (int way = 0; way < 8; way++) {
        const bool with_relu = way & 1, first = way & 2, other = way & 4;
        for (size_t i = 0; i < B * O; i++)
            want[i] = with_relu && x[i] <= 0 ? 0.0f : d[i];
        memcpy(got, d, sizeof got);
        table->sum_backward(B * O, with_relu ? x : NULL, got, first ? got : NULL,
                            other ? second : NULL);
        CHECK_SAME_FLOATS(got, first ? want : d, B * O);
        if (other)
            CHECK_SAME_FLOATS(second, want, B * O);
    }
}

static void a_sum_hands_its_gradient_to_who_wants_it(void **state)
{
    (void)state;
    for_each_table_and_shape(check_sum_backward);
}

static void check_copy_rows(const struct hr_elementwise *table, size_t B, size_t O)
{
    const size_t from_row = O + 3, to_row = O + 1, rows = B > 60 ? 60 : B;
    memcpy(got, d, sizeof got);
    memcpy(want, d, sizeof want);
    for (size_t i = 0; i < rows * O; i++)
        want[i / O * to_row + i % O] = x[i / O * from_row + i % O];
    table->copy_rows(rows, O, x, from_row, got, to_row);
    CHECK_SAME_FLOATS(got, want, MAX_COUNT); /* what lies between rows stays */
}

static void rows_are_copied_to_where_others_lie_between(void **state)
{
    (void)state;
    for_each_table_and_shape(check_copy_rows);
}

static void check_relu(const struct hr_elementwise *table, size_t B, size_t O)
{
    for (size_t i = 0; i < B * O; i++)
        want[i] = x[i] < 0 ? 0.0f : x[i];
    table->relu(B * O, x, got);
    CHECK_SAME_FLOATS(got, want, B * O);
    memcpy(got, x, sizeof got);
    table->relu(B * O, got, got);
    CHECK_SAME_FLOATS(got, want, B * O);
}

static void relu_keeps_what_is_not_negative(void **state)
{
    (void)state;
    for_each_table_and_shape(check_relu);
}

static void check_relu_backward(const struct hr_elementwise *table, size_t B, size_t O)
{
    for (size_t i = 0; i < B * O; i++)
        want[i] = isnan(x[i]) || x[i] > 0 ? d[i] : 0.0f;
    table->relu_backward(B * O, x, d, got);
    CHECK_SAME_FLOATS(got, want, B * O);
    memcpy(got, d, sizeof got);
    table->relu_backward(B * O, x, got, got);
    CHECK_SAME_FLOATS(got, want, B * O);
}

static void relu_passes_gradients_where_its_output_is_positive(void **state)
{
    (void)state;
    for_each_table_and_shape(check_relu_backward);
}

static void check_column_sums(const struct hr_elementwise *table, size_t B, size_t O)
{
    for (size_t o = 0; o < O; o++) {
        volatile float sum = 0;
        for (size_t b = 0; b < B; b++)
            sum = sum + d[b * O + o];
        want[o] = sum;
    }
    memset(got, 0, sizeof got);
    table->column_add(B, O, d, O, got);
    CHECK_SAME_FLOATS(got, want, O);
}

static void columns_are_summed_in_row_order(void **state)
{
    (void)state;
    for_each_table_and_shape(check_column_sums);
}

static void library_calls_reach_their_kernels(void **state)
{
    (void)state;
    float y[2] = {-3, 1}, sums[2];
    const float one[2] = {1, 1}, g[4] = {1, 2, 10, 20};
    hr_elementwise()->bias_add(1, 2, one, y);
    assert_true(y[0] == -2 && y[1] == 2);
    hr_elementwise()->relu(2, y, y);
    assert_true(y[0] == 0 && y[1] == 2);
    hr_elementwise()->relu_backward(2, y, g, y);
    assert_true(y[0] == 0 && y[1] == 2);
    hr_elementwise()->bias_relu(1, 2, (const float[]){-1, 1}, y);
    assert_true(y[0] == 0 && y[1] == 3);
    hr_elementwise()->column_sums(2, 2, g, 2, sums);
    assert_true(sums[0] == 11 && sums[1] == 22);
    hr_elementwise()->column_sums(2, 1, g + 1, 2, sums);
    assert_true(sums[0] == 22 && sums[1] == 22);
}

/* Both sides of a byte, of a block of Philox, and of those that are drawn together; the counter
 * wraps. */
static void bits_are_drawn_one_block_after_the_other(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 3, 4, 5, 7, 8, 9, 31, 63, 64, 65, 120, 128, 1003};
    const uint64_t key = check_seed() * 0x100000001u + 5;
    for (size_t n = hr_isa() + 1; n-- > 0;)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            const uint32_t counter[4] = {c % 2 ? UINT32_MAX - 3 : 7, 11, (uint32_t)c, 13};
            const uint32_t least = c % 3 ? 0x4ccccccc : 0;
            uint8_t bits[127], wanted[127];
            memset(bits, 0x5a, sizeof bits);
            memset(wanted, 0x5a, sizeof wanted);
            memset(wanted, 0, (counts[c] + 7) / 8);
            for (uint32_t i = 0; i < counts[c]; i++) {
                const struct hr_philox block = {
                    {counter[0] + i / 4, counter[1], counter[2], counter[3]}};
                const struct hr_philox r =
                    hr_philox4x32(block, (uint32_t)key, (uint32_t)(key >> 32));
                wanted[i / 8] |= (uint8_t)((r.v[i % 4] >= least) << i % 8);
            }
            tables[n]->draw_bits(counts[c], counter, key, least, bits);
            assert_memory_equal(bits, wanted, sizeof bits);
        }
}

static void check_keep(const struct hr_elementwise *table, size_t B, size_t O)
{
    static uint8_t bits[MAX_COUNT / 8 + 1];
    for (size_t i = 0; i < sizeof bits; i++)
        bits[i] = (uint8_t)(i * 181 >> 2);
    memcpy(want, x, sizeof want);
    memcpy(got, x, sizeof got);
    for (size_t i = 0; i < B * O; i++)
        want[i] = bits[i / 8] >> (i % 8) & 1 ? x[i] * 1.25f : 0.0f;
    table->keep(B * O, bits, 1.25f, got, got);
    CHECK_SAME_FLOATS(got, want, MAX_COUNT);
}

static void what_is_kept_grows(void **state)
{
    (void)state;
    for_each_table_and_shape(check_keep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bias_and_relu_in_one_pass_are_the_two_in_turn),
        cmocka_unit_test(a_sum_is_written_where_its_first_stands_and_perhaps_through_relu),
        cmocka_unit_test(rows_are_copied_to_where_others_lie_between),
        cmocka_unit_test(a_sum_hands_its_gradient_to_who_wants_it),
        cmocka_unit_test(relu_keeps_what_is_not_negative),
        cmocka_unit_test(relu_passes_gradients_where_its_output_is_positive),
        cmocka_unit_test(columns_are_summed_in_row_order),
        cmocka_unit_test(library_calls_reach_their_kernels),
        cmocka_unit_test(bits_are_drawn_one_block_after_the_other),
        cmocka_unit_test(what_is_kept_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
