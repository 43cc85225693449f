/* Batchnorm at its edges: one value a channel, large means, several threads, NaN. The formulas are
 * in test_blocks.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "nn/layer.h"
#include "support/check.h"

enum { MAX_VALUES = 40000, MAX_C = 17 };

static float x[MAX_VALUES], y[MAX_VALUES], dy[MAX_VALUES], dx[MAX_VALUES];
static float params[4 * MAX_C], grads[4 * MAX_C];
static double saved[2 * MAX_C];
static bool relu; /* stands behind, and is the layer's work */

/* One training pass over B samples of C channels and P pixels, forward and backward. */
static void run(size_t B, size_t C, size_t P, size_t threads)
{
    struct hr_layer layer = {
        .type = &hr_layer_batchnorm, .relu_follows = relu, .absorbs = relu ? 1 : 0};
    const struct hr_draw draw = {.seed = 1};
    layer.in = (struct hr_dims){.ndim = 3, .size = {C, P, 1}};
    CHECK_OK(hr_layer_batchnorm.fit(&layer));
    assert_true(B * C * P <= MAX_VALUES && C <= MAX_C);
    struct hr_pass pass = {.B = B,
                           .params = params,
                           .grads = grads,
                           .x = x,
                           .y = y,
                           .dy = dy,
                           .dx = dx,
                           .saved = saved,
                           .threads = threads,
                           .draw = &draw};
    pass.scratch = malloc(layer.type->scratch_bytes(&layer, B, threads));
    layer.type->forward(&layer, &pass);
    layer.type->backward(&layer, &pass);
    free(pass.scratch);
}

static void fill(float mean)
{
    for (size_t i = 0; i < MAX_VALUES; i++) {
        const struct hr_philox r = hr_random_block(check_seed(), HR_STREAM_TEST, i, 0);
        x[i] = mean + hr_random_unit(r.v[0]) - 0.5f;
        dy[i] = hr_random_unit(r.v[1]) - 0.5f;
        params[i % (4 * MAX_C)] = hr_random_unit(r.v[2]) + 0.5f;
    }
}

/* And moves no statistic: w - 0.1 (g / n + w) of g = - n w. */
static void one_value_a_channel_has_no_variance(void **state)
{
    (void)state;
    fill(3);
    run(1, 5, 1, 1);
    for (size_t c = 0; c < 5; c++) {
        CHECK_NEAR((double)y[c], (double)params[5 + c], 0, 1e-4);
        CHECK_NEAR((double)dx[c], 0, 0, 1e-4);
        assert_true(grads[10 + c] == -params[10 + c]);
        assert_true(grads[15 + c] == -params[15 + c]);
    }
}

/* mean / deviation = 3500; what is lost is what float x have lost already. */
static void large_means_do_not_drown_the_variance(void **state)
{
    (void)state;
    const size_t B = 50, C = 3, P = 100, n = B * P;
    fill(1000);
    run(B, C, P, 1);
    for (size_t c = 0; c < C; c++) {
        double mean = 0, var = 0;
        for (size_t i = 0; i < n; i++)
            mean += (double)x[i * C + c] / (double)n;
        for (size_t i = 0; i < n; i++)
            var += pow((double)x[i * C + c] - mean, 2) / (double)(n - 1);
        CHECK_NEAR((double)grads[2 * C + c], -(double)B * mean, 1e-7, 0);
        CHECK_NEAR((double)grads[3 * C + c], -(double)B * var, 1e-6, 0);
    }
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    static float y1[MAX_VALUES], dx1[MAX_VALUES], grads1[4 * MAX_C];
    const size_t B = 9, C = MAX_C, P = 251; /* 2259 rows: four blocks, and part of one */
    fill(0);
    run(B, C, P, 1);
    memcpy(y1, y, sizeof y);
    memcpy(dx1, dx, sizeof dx);
    memcpy(grads1, grads, sizeof grads);
    for (size_t threads = 2; threads <= 4; threads++) {
        run(B, C, P, threads);
        CHECK_SAME_FLOATS(y, y1, B * C * P);
        CHECK_SAME_FLOATS(dx, dx1, B * C * P);
        CHECK_SAME_FLOATS(grads, grads1, 4 * C);
    }
}

static void a_relu_behind_changes_no_bit(void **state)
{
    (void)state;
    static float y1[MAX_VALUES], dx1[MAX_VALUES], given[MAX_VALUES], grads1[4 * MAX_C];
    const size_t B = 9, C = MAX_C, P = 251, n = B * C * P;
    fill(0);
    run(B, C, P, 1);
    memcpy(given, dy, sizeof dy);
    for (size_t i = 0; i < n; i++) {
        y1[i] = y[i] > 0 ? y[i] : 0;
        dy[i] = y[i] > 0 ? dy[i] : 0;
    }
    run(B, C, P, 1);
    memcpy(dx1, dx, sizeof dx);
    memcpy(grads1, grads, sizeof grads);
    memcpy(dy, given, sizeof dy);
    relu = true;
    for (size_t threads = 1; threads <= 3; threads++) {
        run(B, C, P, threads);
        CHECK_SAME_FLOATS(y, y1, n);
        CHECK_SAME_FLOATS(dx, dx1, n);
        CHECK_SAME_FLOATS(grads, grads1, 4 * C);
    }
    relu = false;
}

static void the_normalised_have_mean_zero_and_variance_one(void **state)
{
    (void)state;
    const size_t B = 7, C = 13, P = 100, n = B * P;
    fill(5);
    for (size_t c = 0; c < C; c++)
        params[c] = 1, params[C + c] = 0;
    run(B, C, P, 2);
    for (size_t c = 0; c < C; c++) {
        double sum = 0, squares = 0;
        for (size_t i = 0; i < n; i++) {
            sum += (double)y[i * C + c] / (double)n;
            squares += pow((double)y[i * C + c], 2) / (double)n;
        }
        CHECK_NEAR(sum, 0, 0, 1e-5);
        CHECK_NEAR(squares, 1, 0, 1e-3);
    }
}

static void what_is_not_a_number_stays_in_its_channel(void **state)
{
    (void)state;
    fill(0);
    x[4 * 3 + 1] = NAN;
    run(5, 3, 10, 1);
    assert_true(isnan(y[1]) && isnan(grads[6 + 1]) && isnan(grads[9 + 1]));
    assert_true(!isnan(y[0]) && !isnan(grads[6]) && !isnan(grads[9 + 2]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_value_a_channel_has_no_variance),
        cmocka_unit_test(large_means_do_not_drown_the_variance),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(a_relu_behind_changes_no_bit),
        cmocka_unit_test(the_normalised_have_mean_zero_and_variance_one),
        cmocka_unit_test(what_is_not_a_number_stays_in_its_channel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
