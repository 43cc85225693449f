/* The loops over rows of each instruction set: the same bits as a loop that follows the stated
 * order, or close to the definition in double. */
#include <math.h>
#include <string.h>

#include "base/philox.h"
#include "kernels/rows.h"
#include "support/check.h"

enum { MOST_R = 9, MOST_D = 300, FLOATS = MOST_R * MOST_D, SPARE = 7 };

static float x[FLOATS], dy[FLOATS], y[FLOATS], dx[FLOATS], first[2][FLOATS];
static float weight[MOST_D], bias[MOST_D], mean[MOST_R], inverse[MOST_R];
static float dweight[MOST_D + SPARE], dbias[MOST_D + SPARE];

static const size_t widths[] = {1, 2, 7, 16, 17, 31, 64, 100, 256, 299, MOST_D};
enum { WIDTHS = sizeof widths / sizeof *widths };

static size_t copies(const struct hr_row_loops *out[3])
{
    static const struct hr_row_loops *const all[] = {HR_ISA_COPIES(hr_row_loops)};
    for (size_t level = 0; level <= hr_isa(); level++)
        out[level] = all[level];
    return hr_isa() + 1;
}

static void fill(void)
{
    for (size_t i = 0; i < FLOATS; i++) {
        const struct hr_philox r = hr_random_block(check_seed(), HR_STREAM_TEST, i, 0);
        x[i] = 3 + 4 * hr_random_unit(r.v[0]);
        dy[i] = hr_random_unit(r.v[1]) - 0.5f;
        weight[i % MOST_D] = hr_random_unit(r.v[2]) + 0.5f;
        bias[i % MOST_D] = hr_random_unit(r.v[3]) - 0.5f;
    }
}

/* --- layer normalisation --- */

/* Mean, and 1 / sqrt(variance + eps). */
static void look_at(const float *row, size_t D, double *m, double *k)
{
    double sum = 0, squares = 0;
    for (size_t c = 0; c < D; c++)
        sum += (double)row[c];
    *m = sum / (double)D;
    for (size_t c = 0; c < D; c++)
        squares += ((double)row[c] - *m) * ((double)row[c] - *m);
    *k = 1 / sqrt(squares / (double)D + 1e-5);
}

static void check_normal(size_t D)
{
    for (size_t r = 0; r < MOST_R; r++) {
        double m, k;
        look_at(x + r * D, D, &m, &k);
        CHECK_NEAR((double)mean[r], m, 1e-6, 0);
        CHECK_NEAR((double)inverse[r], k, 1e-5, 0);
        for (size_t c = 0; c < D; c++) {
            const double n = ((double)x[r * D + c] - m) * k;
            CHECK_NEAR((double)y[r * D + c], n * (double)weight[c] + (double)bias[c], 1e-5, 2e-5);
        }
    }
}

static void check_gradient(size_t D, float began)
{
    static double dw[MOST_D], db[MOST_D];
    memset(dw, 0, sizeof dw), memset(db, 0, sizeof db);
    for (size_t r = 0; r < MOST_R; r++) {
        double m, k, g_mean = 0, gn_mean = 0;
        look_at(x + r * D, D, &m, &k);
        for (size_t c = 0; c < D; c++) {
            const double d = (double)dy[r * D + c], n = ((double)x[r * D + c] - m) * k;
            g_mean += d * (double)weight[c] / (double)D;
            gn_mean += d * (double)weight[c] * n / (double)D;
            dw[c] += d * n;
            db[c] += d;
        }
        for (size_t c = 0; c < D; c++) {
            const double n = ((double)x[r * D + c] - m) * k;
            const double g = (double)dy[r * D + c] * (double)weight[c];
            CHECK_NEAR((double)dx[r * D + c], (g - g_mean - n * gn_mean) * k, 1e-5, 1e-5 * k);
        }
    }
    for (size_t c = 0; c < D; c++) {
        CHECK_NEAR((double)dweight[c], (double)began + dw[c], 1e-5, 1e-5);
        CHECK_NEAR((double)dbias[c], (double)began + db[c], 1e-5, 1e-5);
    }
}

static void layer_normalisation_follows_the_definition(void **state)
{
    (void)state;
    const struct hr_row_loops *tables[3];
    fill();
    for (size_t t = 0, n = copies(tables); t < n; t++)
        for (size_t w = 0; w < WIDTHS; w++) {
            const size_t D = widths[w];
            tables[t]->layernorm(MOST_R, D, x, weight, bias, y, mean, inverse);
            check_normal(D);
            for (size_t c = 0; c < MOST_D + SPARE; c++)
                dweight[c] = dbias[c] = 0.25f;
            tables[t]->layernorm_backward(MOST_R, D, x, weight, mean, inverse, dy, dx, dweight,
                                          dbias);
            check_gradient(D, 0.25f);
            for (size_t c = D; c < MOST_D + SPARE; c++)
                assert_true(dweight[c] == 0.25f && dbias[c] == 0.25f);
        }
}

/* Nine rows at once, or one and eight: and each instruction set. */
static void layer_normalisation_has_one_order(void **state)
{
    (void)state;
    const struct hr_row_loops *tables[3];
    static float dw[MOST_D + SPARE], db[MOST_D + SPARE];
    fill();
    for (size_t w = 0; w < WIDTHS; w++)
        for (size_t t = 0, n = copies(tables); t < n; t++) {
            const size_t D = widths[w];
            const struct hr_row_loops *table = tables[t];
            memset(dweight, 0, sizeof dweight), memset(dbias, 0, sizeof dbias);
            memcpy(y, x, sizeof y), memcpy(dx, dy, sizeof dx);
            table->layernorm(1, D, y, weight, bias, y, mean, inverse);
            table->layernorm(MOST_R - 1, D, y + D, weight, bias, y + D, mean + 1, inverse + 1);
            table->layernorm_backward(1, D, x, weight, mean, inverse, dx, dx, dweight, dbias);
            table->layernorm_backward(MOST_R - 1, D, x + D, weight, mean + 1, inverse + 1, dx + D,
                                      dx + D, dweight, dbias);
            if (t == 0) {
                memset(dw, 0, sizeof dw), memset(db, 0, sizeof db);
                table->layernorm(MOST_R, D, x, weight, bias, first[0], mean, inverse);
                table->layernorm_backward(MOST_R, D, x, weight, mean, inverse, dy, first[1], dw,
                                          db);
            }
            CHECK_SAME_FLOATS(y, first[0], MOST_R * D);
            CHECK_SAME_FLOATS(dx, first[1], MOST_R * D);
            CHECK_SAME_FLOATS(dweight, dw, D);
            CHECK_SAME_FLOATS(dbias, db, D);
        }
}

/* --- cross entropy --- */

static uint32_t labels[MOST_R];
static float losses[MOST_R];

static void draw_labels(size_t C)
{
    for (size_t r = 0; r < MOST_R; r++)
        labels[r] = (uint32_t)(r * 31 % C);
}

static void check_losses(size_t C, float scale)
{
    for (size_t r = 0; r < MOST_R; r++) {
        const float *row = x + r * C;
        double sum = 0;
        for (size_t c = 0; c < C; c++)
            sum += exp((double)row[c] - (double)row[labels[r]]);
        CHECK_NEAR((double)losses[r], log(sum), 1e-6, 1e-6);
        for (size_t c = 0; c < C; c++) {
            const double p = exp((double)row[c] - (double)row[labels[r]]) / sum;
            const double want = (p - (c == labels[r])) * (double)scale;
            CHECK_NEAR((double)dx[r * C + c], want, 1e-6, 2e-7 * (double)scale);
        }
    }
}

static void cross_entropy_follows_the_definition(void **state)
{
    (void)state;
    const struct hr_row_loops *tables[3];
    fill();
    for (size_t w = 0; w < WIDTHS; w++)
        for (size_t t = 0, n = copies(tables); t < n; t++) {
            const size_t C = widths[w];
            draw_labels(C);
            struct hr_row_losses all = {MOST_R, C, x, labels, losses, dx, 0.5f};
            tables[t]->cross_entropy(&all);
            check_losses(C, 0.5f);
            memcpy(first[0], losses, sizeof losses);
            if (t == 0)
                memcpy(first[1], dx, sizeof dx);
            CHECK_SAME_FLOATS(dx, first[1], MOST_R * C);
            memcpy(y, x, sizeof y); /* in place, and without a gradient */
            all.x = all.dx = y;
            tables[t]->cross_entropy(&all);
            CHECK_SAME_FLOATS(y, dx, MOST_R * C);
            all.x = x;
            all.dx = NULL;
            memset(losses, 0, sizeof losses);
            tables[t]->cross_entropy(&all);
            CHECK_SAME_FLOATS(losses, first[0], MOST_R);
        }
}

enum { C40 = 40 };

/* The loss of a row of 40 logits of which one is as said, and its gradient in y. */
static float loss_with(const struct hr_row_loops *table, float value, size_t at, uint32_t label)
{
    float row[C40] = {0}, loss;
    row[at] = value;
    table->cross_entropy(&(struct hr_row_losses){1, C40, row, &label, &loss, y, 1});
    return loss;
}

static void what_is_not_finite_is_told(void **state)
{
    (void)state;
    const struct hr_row_loops *tables[3];
    const float bad[] = {NAN, INFINITY};
    const size_t places[] = {0, 5, 20, C40 - 1};
    for (size_t n = copies(tables); n-- > 0;)
        for (size_t i = 0; i < 4; i++) {
            const size_t at = places[i];
            for (size_t b = 0; b < 2; b++) {
                assert_true(isnan(loss_with(tables[n], bad[b], at, 7)));
                for (size_t c = 0; c < C40; c++)
                    assert_true(isnan(y[c]));
            }
            CHECK_NEAR((double)loss_with(tables[n], -INFINITY, at, 7), log(C40 - 1), 1e-6, 0);
            assert_true(y[at] == 0);
            CHECK_NEAR((double)y[7], 1.0 / (C40 - 1) - 1, 1e-6, 0);
            assert_true(loss_with(tables[n], -INFINITY, at, (uint32_t)at) == INFINITY);
            CHECK_NEAR((double)loss_with(tables[n], 1e30f, at, (uint32_t)at), 0, 0, 0);
            CHECK_NEAR((double)loss_with(tables[n], 1e30f, at, 7), 1e30, 1e-6, 0);
            float none[C40], loss;
            for (size_t c = 0; c < C40; c++)
                none[c] = -INFINITY;
            tables[n]->cross_entropy(&(struct hr_row_losses){1, C40, none, labels, &loss, y, 1});
            assert_true(isnan(loss) && isnan(y[0]) && isnan(y[C40 - 1]));
        }
}

/* --- rows of a table --- */

static void rows_of_a_table_are_read_and_added_to_in_order(void **state)
{
    (void)state;
    enum { R = 6, V = 4, D = 37 };
    const uint32_t ids[R] = {3, 0, 3, 1, 3, 0};
    const struct hr_row_loops *tables[3];
    fill();
    for (size_t n = copies(tables); n-- > 0;) {
        float table[V * D], want[V * D];
        memcpy(table, bias, sizeof table), memcpy(want, bias, sizeof want);
        tables[n]->gather(R, D, ids, x, y);
        for (size_t i = 0; i < R * D; i++)
            assert_true(y[i] == x[ids[i / D] * D + i % D]);
        tables[n]->scatter_add(R, D, ids, dy, table);
        for (size_t i = 0; i < R * D; i++)
            want[ids[i / D] * D + i % D] += dy[i];
        CHECK_SAME_FLOATS(table, want, V * D);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layer_normalisation_follows_the_definition),
        cmocka_unit_test(layer_normalisation_has_one_order),
        cmocka_unit_test(cross_entropy_follows_the_definition),
        cmocka_unit_test(what_is_not_finite_is_told),
        cmocka_unit_test(rows_of_a_table_are_read_and_added_to_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
