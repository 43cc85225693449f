/* The loops of batch normalisation of each instruction set against loops that follow the
 * definitions, channel by channel, bit by bit. */
#include <math.h>
#include <string.h>

#include "base/philox.h"
#include "kernels/bf16.h"
#include "kernels/norm.h"
#include "support/check.h"

enum { MAX_R = 3 * HR_NORM_BLOCK, MAX_ROW = 75, MAX_BLOCKS = 3, MAX_VALUES = MAX_R * MAX_ROW };

static float x[MAX_VALUES], dy[MAX_VALUES], got[MAX_VALUES], want[MAX_VALUES], coef[4 * MAX_ROW];
static double mean[MAX_ROW], got_sums[2 * MAX_ROW * MAX_BLOCKS],
    want_sums[2 * MAX_ROW * MAX_BLOCKS];

static const size_t rows[] = {
    1, 37, HR_NORM_BLOCK, HR_NORM_BLOCK + 1, 2 * HR_NORM_BLOCK, 2 * HR_NORM_BLOCK + 100, MAX_R};
static const size_t channels[] = {1, 3, 4, 6, 8, 9, 15, 16, 17, 24, 32, 33, 48, 70};

static void fill(void)
{
    for (size_t i = 0; i < MAX_VALUES; i++) {
        const struct hr_philox r = hr_random_block(check_seed(), HR_STREAM_TEST, i, 0);
        x[i] = i % 401 ? hr_random_unit(r.v[0]) : 0.5f; /* some just at relu's bend */
        dy[i] = hr_random_unit(r.v[1]) - 0.5f;
    }
    for (size_t c = 0; c < MAX_ROW; c++) {
        mean[c] = 0.5 + 0.001 * (double)c;
        for (size_t i = 0; i < 4; i++)
            coef[i * MAX_ROW + c] = 0.3f + 0.01f * (float)c - 0.7f * (float)(i == 2);
    }
}

/* One shape: C channels of rows that may be longer. */
struct shape {
    size_t R, C, row;
    const float *gate; /* or NULL */
};

/* The coefficients of C channels, one kind after the other. */
static const float *coef_of(size_t C)
{
    static float own[4 * MAX_ROW];
    for (size_t i = 0; i < 4; i++)
        memcpy(own + i * C, coef + i * MAX_ROW, C * sizeof *own);
    for (size_t c = 0; c < C; c += 5) { /* y is 0 where x is 0.5 */
        own[c] = 0.5f;
        own[2 * C + c] = 0;
    }
    return own;
}

static float normed(const struct shape *s, const float *k, size_t r, size_t c)
{
    const float scaled = (x[r * s->row + c] - k[c]) * k[s->C + c];
    return scaled + k[2 * s->C + c];
}

static float gated(const struct shape *s, size_t r, size_t c)
{
    const bool closed = s->gate && normed(s, s->gate, r, c) <= 0;
    return closed ? 0 : dy[r * s->row + c];
}

static void sum_naively(const struct shape *s, bool back)
{
    memset(want_sums, 0, sizeof want_sums);
    for (size_t c = 0; c < s->C; c++)
        for (size_t r = 0; r < s->R; r++) {
            double *sums = want_sums + r / HR_NORM_BLOCK * 2 * s->C + c;
            const double v = (double)x[r * s->row + c], d = (double)gated(s, r, c);
            const double product = back ? d * (v - mean[c]) : v * v;
            sums[0] += back ? d : v;
            sums[s->C] += product;
        }
}

static void check_sums(const struct shape *s)
{
    for (size_t i = 0; i < hr_norm_blocks(s->R) * 2 * s->C; i++)
        if (memcmp(&got_sums[i], &want_sums[i], sizeof *got_sums) != 0)
            fail_msg("R %zu C %zu row %zu gate %d, sum %zu: %.17g, not %.17g", s->R, s->C, s->row,
                     s->gate != NULL, i, got_sums[i], want_sums[i]);
}

static void check_moments(const struct hr_norm *table, const struct shape *s)
{
    sum_naively(s, false);
    memset(got_sums, 0xff, sizeof got_sums);
    table->moments(s->R, s->C, s->row, x, got_sums);
    check_sums(s);
}

static void check_gradients(const struct hr_norm *table, const struct shape *s)
{
    sum_naively(s, true);
    memset(got_sums, 0xff, sizeof got_sums);
    table->gradients(s->R, s->C, s->row, x, dy, mean, s->gate, got_sums);
    check_sums(s);
}

/* What is stored of a value. */
static float ended(struct hr_norm_end end, float value)
{
    const float y = end.relu && value < 0 ? 0 : value;
    return end.round ? hr_bf16_round(y) : y;
}

static void check_apply(const struct hr_norm *table, const struct shape *s)
{
    const float *k = coef_of(s->C);
    for (int way = 0; way < 4; way++) {
        const struct hr_norm_end end = {.relu = way % 2, .round = way / 2};
        memcpy(want, x, sizeof want);
        memcpy(got, x, sizeof got); /* in place: what lies between stays */
        for (size_t r = 0; r < s->R; r++)
            for (size_t c = 0; c < s->C; c++)
                want[r * s->row + c] = ended(end, normed(s, k, r, c));
        table->apply(s->R, s->C, s->row, got, k, end, got);
        CHECK_SAME_FLOATS(got, want, MAX_VALUES);
    }
}

static void check_backward(const struct hr_norm *table, const struct shape *s)
{
    const float *k = coef_of(s->C);
    for (int round = 0; round < 2; round++) {
        const struct hr_norm_end end = {.round = round};
        memcpy(want, dy, sizeof want);
        memcpy(got, dy, sizeof got);
        for (size_t r = 0; r < s->R; r++)
            for (size_t c = 0; c < s->C; c++) {
                const float slope = (x[r * s->row + c] - k[c]) * k[3 * s->C + c];
                const float inner = gated(s, r, c) - k[2 * s->C + c] - slope;
                want[r * s->row + c] = ended(end, k[s->C + c] * inner);
            }
        table->backward(s->R, s->C, s->row, x, got, k, s->gate, end, got);
        CHECK_SAME_FLOATS(got, want, MAX_VALUES);
    }
}

/* This machine can run hr_isa() + 1 of them. */
static const struct hr_norm *const tables[] = {HR_ISA_COPIES(hr_norm)};

typedef void (*check_fn)(const struct hr_norm *table, const struct shape *s);

static void for_each_table_and_shape(check_fn check, bool gates)
{
    fill();
    for (size_t n = hr_isa() + 1; n-- > 0;)
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
            for (size_t c = 0; c < sizeof channels / sizeof *channels; c++)
                for (int way = 0; way < (gates ? 4 : 2); way++) {
                    const size_t C = channels[c];
                    check(tables[n], &(struct shape){rows[r], C, way % 2 ? C + 5 : C,
                                                     way / 2 ? coef_of(C) : NULL});
                }
}

static void moments_are_summed_in_blocks_from_the_first_row_on(void **state)
{
    (void)state;
    for_each_table_and_shape(check_moments, false);
}

static void gradients_are_summed_so_too_behind_a_relu_or_not(void **state)
{
    (void)state;
    for_each_table_and_shape(check_gradients, true);
}

static void pixels_are_normalised_where_they_stand(void **state)
{
    (void)state;
    for_each_table_and_shape(check_apply, false);
}

static void gradients_are_written_where_they_stand(void **state)
{
    (void)state;
    for_each_table_and_shape(check_backward, true);
}

static void what_is_not_a_number_passes_the_gate(void **state)
{
    (void)state;
    const float k[4] = {0, 1, 0, 0}, bad[2] = {NAN, -1}, d[2] = {3, 5};
    const double zero = 0;
    for (size_t n = hr_isa() + 1; n-- > 0;) {
        double sums[2];
        float dx[2], y[2];
        tables[n]->gradients(2, 1, 1, bad, d, &zero, k, sums);
        assert_true(sums[0] == 3 && isnan(sums[1]));
        tables[n]->backward(2, 1, 1, bad, d, k, k, (struct hr_norm_end){0}, dx);
        assert_true(isnan(dx[0]) && dx[1] == 0);
        tables[n]->apply(2, 1, 1, bad, k, (struct hr_norm_end){.relu = true}, y);
        assert_true(isnan(y[0]) && y[1] == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moments_are_summed_in_blocks_from_the_first_row_on),
        cmocka_unit_test(gradients_are_summed_so_too_behind_a_relu_or_not),
        cmocka_unit_test(pixels_are_normalised_where_they_stand),
        cmocka_unit_test(gradients_are_written_where_they_stand),
        cmocka_unit_test(what_is_not_a_number_passes_the_gate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
