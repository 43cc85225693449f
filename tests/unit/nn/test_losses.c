/* Label smoothing, binary cross entropy and mean squared error: the formulas of PyTorch's
 * CrossEntropyLoss, BCEWithLogitsLoss and MSELoss in double; gradients by finite differences. */
#include <math.h>

#include "base/philox.h"
#include "nn/loss.h"
#include "support/check.h"

enum { B = 40, MAX_C = 17 };

static float logits[B * MAX_C], dlogits[B * MAX_C];
static uint32_t labels[B];

static void fill(size_t C, size_t classes)
{
    for (size_t i = 0; i < B * C; i++) {
        const struct hr_philox r = hr_random_block(check_seed(), HR_STREAM_TEST, i, (uint32_t)C);
        logits[i] = 6 * hr_random_unit(r.v[0]) - 2;
        labels[i % B] = (uint32_t)(r.v[1] % classes);
    }
}

static double target_of(const struct hr_loss_function *loss, size_t b, size_t c)
{
    return loss->outputs == 1 ? labels[b] : c == labels[b];
}

static double smoothed(const struct hr_loss_function *loss, const double *x, size_t b)
{
    const double s = (double)loss->smoothing, C = (double)loss->outputs;
    double sum = 0, value = 0;
    for (size_t c = 0; c < loss->outputs; c++)
        sum += exp(x[c]);
    for (size_t c = 0; c < loss->outputs; c++)
        value -= ((1 - s) * target_of(loss, b, c) + s / C) * (x[c] - log(sum));
    return value;
}

static double exact(const struct hr_loss_function *loss, const double *x, size_t b)
{
    double mean = 0;
    if (loss->kind == HR_LOSS_CROSS_ENTROPY)
        return smoothed(loss, x, b);
    for (size_t c = 0; c < loss->outputs; c++) {
        const double t = target_of(loss, b, c), p = 1 / (1 + exp(-x[c]));
        mean += loss->kind == HR_LOSS_MSE ? (x[c] - t) * (x[c] - t)
                                          : -t * log(p) - (1 - t) * log(1 - p);
    }
    return mean / (double)loss->outputs;
}

static void check_loss(const struct hr_loss_function *loss)
{
    double sum = 0;
    fill(loss->outputs, loss->classes);
    const struct hr_batch_result got = hr_loss(loss, B, logits, labels, dlogits);
    for (size_t b = 0; b < B; b++) {
        double x[MAX_C];
        for (size_t c = 0; c < loss->outputs; c++)
            x[c] = (double)logits[b * loss->outputs + c];
        sum += exact(loss, x, b);
        for (size_t c = 0; c < loss->outputs; c++) {
            const double h = 1e-5, before = x[c];
            x[c] = before + h;
            const double above = exact(loss, x, b);
            x[c] = before - h;
            const double slope = (above - exact(loss, x, b)) / (2 * h);
            x[c] = before;
            CHECK_NEAR((double)dlogits[b * loss->outputs + c], slope, 2e-6, 5e-7);
        }
    }
    CHECK_NEAR(got.loss_sum, sum, 1e-6, 0);
    const struct hr_batch_result without = hr_loss(loss, B, logits, labels, NULL);
    assert_true(without.loss_sum == got.loss_sum && without.correct == got.correct);
}

static void losses_and_gradients_follow_the_formulas(void **state)
{
    (void)state;
    static const struct hr_loss_function losses[] = {
        {.kind = HR_LOSS_CROSS_ENTROPY, .smoothing = 0.1f, .outputs = 10, .classes = 10},
        {.kind = HR_LOSS_CROSS_ENTROPY, .smoothing = 0.75f, .outputs = 2, .classes = 2},
        {.kind = HR_LOSS_BCE, .smoothing = 0, .outputs = 10, .classes = 10},
        {.kind = HR_LOSS_BCE, .smoothing = 0, .outputs = 2, .classes = 2},
        {.kind = HR_LOSS_BCE, .outputs = 1, .classes = 2},
        {.kind = HR_LOSS_MSE, .smoothing = 0, .outputs = 17, .classes = 17},
        {.kind = HR_LOSS_MSE, .smoothing = 0, .outputs = 1, .classes = 5},
    };
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++)
        check_loss(&losses[i]);
}

static size_t correct(const struct hr_loss_function *loss, float x, uint32_t label)
{
    return hr_loss(loss, 1, &x, &label, NULL).correct;
}

static void a_single_output_is_a_class(void **state)
{
    (void)state;
    const struct hr_loss_function bce = {.kind = HR_LOSS_BCE, .outputs = 1, .classes = 2},
                                  mse = {.kind = HR_LOSS_MSE, .outputs = 1, .classes = 4};
    assert_true(correct(&bce, 1e-6f, 1) && correct(&bce, 0, 0) && correct(&bce, -3, 0));
    assert_true(!correct(&bce, 0, 1) && !correct(&bce, NAN, 0) && !correct(&bce, NAN, 1));
    assert_true(correct(&mse, -9, 0) && correct(&mse, 0.5f, 0) && correct(&mse, 0.51f, 1));
    assert_true(correct(&mse, 2.4f, 2) && correct(&mse, 1e30f, 3) && !correct(&mse, NAN, 0));
}

static void huge_logits_give_a_finite_loss(void **state)
{
    (void)state;
    const struct hr_loss_function bce = {.kind = HR_LOSS_BCE, .outputs = 1, .classes = 2},
                                  smooth = {.smoothing = 0.5f, .outputs = 2, .classes = 2};
    const float x = -1e30f, two[2] = {1e30f, -1e30f};
    float dx[2];
    CHECK_NEAR(hr_loss(&bce, 1, &x, (const uint32_t[]){1}, dx).loss_sum, 1e30, 1e-6, 0);
    CHECK_NEAR((double)dx[0], -1, 0, 0);
    CHECK_NEAR(hr_loss(&smooth, 1, two, (const uint32_t[]){0}, dx).loss_sum, 5e29, 1e-6, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_and_gradients_follow_the_formulas),
        cmocka_unit_test(a_single_output_is_a_class),
        cmocka_unit_test(huge_logits_give_a_finite_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
