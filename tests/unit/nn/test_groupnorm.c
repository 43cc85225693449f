/* Groupnorm against a naive twin, whose gradients are differences of the twin's own outputs; and no
 * sample, thread or share of a batch changes another's bits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "nn/layer.h"
#include "support/check.h"

enum { B = 3, C = 6, P = 10, ROW = C * P, MOST = B * ROW };

static float x[MOST], y[MOST], dy[MOST], dx[MOST], params[2 * C], grads[2 * C];

static void run(size_t groups, size_t from, size_t samples, size_t threads)
{
    struct hr_layer layer = {.type = &hr_layer_groupnorm, .size = {groups}};
    const struct hr_draw draw = {.seed = 1};
    layer.in = (struct hr_dims){.ndim = 3, .size = {C, P, 1}};
    CHECK_OK(hr_layer_groupnorm.fit(&layer));
    struct hr_pass pass = {.B = samples,
                           .params = params,
                           .grads = grads,
                           .x = x + from * ROW,
                           .y = y + from * ROW,
                           .dy = dy + from * ROW,
                           .dx = dx + from * ROW,
                           .saved = malloc(layer.type->saved_bytes(&layer, samples)),
                           .scratch = malloc(layer.type->scratch_bytes(&layer, samples, threads)),
                           .threads = threads,
                           .draw = &draw};
    layer.type->forward(&layer, &pass);
    layer.type->backward(&layer, &pass);
    free(pass.saved);
    free(pass.scratch);
}

static void fill(float mean)
{
    for (size_t i = 0; i < MOST; i++) {
        const struct hr_philox r = hr_random_block(check_seed(), HR_STREAM_TEST, i, 0);
        x[i] = mean + hr_random_unit(r.v[0]) - 0.5f;
        dy[i] = hr_random_unit(r.v[1]) - 0.5f;
        params[i % (2 * C)] = hr_random_unit(r.v[2]) + 0.5f;
    }
}

/* What the loss sum(dy y) would be. */
static double twin_loss(size_t groups, const double *values, const double *weights, double *out)
{
    const size_t each = C / groups, n = each * P;
    double loss = 0;
    for (size_t b = 0; b < B; b++)
        for (size_t g = 0; g < groups; g++) {
            double mean = 0, var = 0;
            for (size_t i = 0; i < ROW; i++)
                mean += i % C / each == g ? values[b * ROW + i] / (double)n : 0;
            for (size_t i = 0; i < ROW; i++)
                var += i % C / each == g ? pow(values[b * ROW + i] - mean, 2) / (double)n : 0;
            for (size_t i = 0; i < ROW; i++)
                if (i % C / each == g) {
                    const double value =
                        (values[b * ROW + i] - mean) / sqrt(var + 1e-5) * weights[i % C] +
                        weights[C + i % C];
                    loss += (double)dy[b * ROW + i] * value;
                    if (out)
                        out[b * ROW + i] = value;
                }
        }
    return loss;
}

static double slope(size_t groups, double *values, double *weights, double *at)
{
    const double was = *at, step = 1e-5;
    *at = was + step;
    const double above = twin_loss(groups, values, weights, NULL);
    *at = was - step;
    const double below = twin_loss(groups, values, weights, NULL);
    *at = was;
    return (above - below) / (2 * step);
}

static void it_is_its_formula_and_its_slope(void **state)
{
    (void)state;
    static const size_t groups[] = {1, 2, 3, 6};
    static double values[MOST], out[MOST], weights[2 * C];
    for (size_t k = 0; k < 4; k++) {
        fill(2);
        for (size_t i = 0; i < MOST; i++)
            values[i] = (double)x[i];
        for (size_t i = 0; i < 2 * C; i++)
            weights[i] = (double)params[i];
        run(groups[k], 0, B, 1);
        twin_loss(groups[k], values, weights, out);
        for (size_t i = 0; i < MOST; i++)
            CHECK_NEAR((double)y[i], out[i], 1e-5, 1e-5);
        for (size_t i = 0; i < MOST; i += 7)
            CHECK_NEAR((double)dx[i], slope(groups[k], values, weights, &values[i]), 1e-4, 1e-4);
        for (size_t i = 0; i < 2 * C; i++)
            CHECK_NEAR((double)grads[i], slope(groups[k], values, weights, &weights[i]), 1e-4,
                       1e-4);
    }
}

static void neither_threads_nor_other_samples_change_a_bit(void **state)
{
    (void)state;
    static float y1[MOST], dx1[MOST], grads1[2 * C];
    fill(0);
    run(2, 0, B, 1);
    memcpy(y1, y, sizeof y);
    memcpy(dx1, dx, sizeof dx);
    memcpy(grads1, grads, sizeof grads);
    run(2, 0, B, 3);
    CHECK_SAME_FLOATS(grads, grads1, 2 * C);
    for (size_t b = 0; b < B; b++)
        run(2, b, 1, 1);
    CHECK_SAME_FLOATS(y, y1, MOST);
    CHECK_SAME_FLOATS(dx, dx1, MOST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_its_formula_and_its_slope),
        cmocka_unit_test(neither_threads_nor_other_samples_change_a_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
