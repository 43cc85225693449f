/* Softmax cross entropy against the formula in double, and at the edges of float. */
#include <math.h>

#include "base/philox.h"
#include "nn/loss.h"
#include "support/check.h"

enum { MAX_B = 64, MAX_C = 17 };

static float logits[MAX_B * MAX_C], dlogits[MAX_B * MAX_C];
static uint32_t labels[MAX_B];

static struct hr_batch_result softmax_loss(size_t B, size_t C, const float *x, const uint32_t *y,
                                           float *dx)
{
    const struct hr_loss_function loss = {.outputs = C, .classes = C};
    return hr_loss(&loss, B, x, y, dx);
}

static void fill_with_reals(size_t C)
{
    for (size_t i = 0; i < MAX_B * MAX_C; i++) {
        const struct hr_philox r = hr_random_block(check_seed(), HR_STREAM_TEST, i, (uint32_t)C);
        logits[i] = 20 * hr_random_unit(r.v[0]) - 10;
        labels[i % MAX_B] = (uint32_t)(r.v[1] % C);
    }
}

static void check_rows(size_t B, size_t C)
{
    double loss = 0;
    size_t correct = 0;
    const struct hr_batch_result got = softmax_loss(B, C, logits, labels, dlogits);
    for (size_t b = 0; b < B; b++) {
        const float *x = logits + b * C;
        double sum = 0;
        size_t larger = 0;
        for (size_t c = 0; c < C; c++) {
            sum += exp((double)x[c]);
            larger += x[c] > x[labels[b]];
        }
        loss += log(sum) - (double)x[labels[b]];
        correct += larger == 0;
        for (size_t c = 0; c < C; c++)
            CHECK_NEAR((double)dlogits[b * C + c], exp((double)x[c]) / sum - (c == labels[b]), 2e-6,
                       5e-7);
    }
    CHECK_NEAR(got.loss_sum, loss, 1e-6, 1e-6);
    assert_int_equal(got.correct, correct);
}

static void loss_and_gradient_follow_the_formula(void **state)
{
    (void)state;
    static const size_t batches[] = {0, 1, 3, MAX_B}, classes[] = {1, 2, 10, MAX_C};
    for (size_t i = 0; i < 16; i++) {
        fill_with_reals(classes[i / 4]);
        check_rows(batches[i % 4], classes[i / 4]);
    }
}

static void loss_without_a_gradient_has_the_same_bits(void **state)
{
    (void)state;
    fill_with_reals(10);
    const struct hr_batch_result with = softmax_loss(MAX_B, 10, logits, labels, dlogits);
    const struct hr_batch_result without = softmax_loss(MAX_B, 10, logits, labels, NULL);
    assert_true(with.loss_sum == without.loss_sum);
    assert_int_equal(with.correct, without.correct);
    assert_true(with.correct > 0 && with.correct < MAX_B);
}

static void huge_logits_give_a_finite_loss(void **state)
{
    (void)state;
    const float x[2][3] = {{1e30f, -1e30f, 0}, {-1e38f, 1e38f, 1e38f}};
    float dx[2][3];
    const struct hr_batch_result got = softmax_loss(2, 3, x[0], (const uint32_t[]){1, 2}, dx[0]);
    CHECK_NEAR(got.loss_sum, 2e30, 1e-6, 0);
    CHECK_NEAR_FLOATS(dx[0], ((const float[]){1, -1, 0}), 3, 0, 0);
    CHECK_NEAR_FLOATS(dx[1], ((const float[]){0, 0.5f, -0.5f}), 3, 1e-6, 0);
}

static void first_of_equal_logits_is_the_answer(void **state)
{
    (void)state;
    const float x[2][3] = {{1, 2, 2}, {1, 2, 2}}, none[3] = {1, NAN, 0};
    const struct hr_loss_function loss = {.outputs = 3, .classes = 3};
    uint32_t answer;
    hr_loss_answers(&loss, 1, x[0], &answer);
    assert_int_equal(answer, 1);
    hr_loss_answers(&loss, 1, none, &answer);
    assert_int_equal(answer, HR_NO_CLASS);
    assert_int_equal(softmax_loss(2, 3, x[0], (const uint32_t[]){1, 2}, NULL).correct, 1);
    assert_int_equal(softmax_loss(2, 3, x[0], (const uint32_t[]){2, 2}, NULL).correct, 0);
}

static void logits_that_are_no_numbers_are_never_right(void **state)
{
    (void)state;
    for (size_t bad = 0; bad < 3; bad++) {
        float x[3] = {3, 2, 1};
        x[bad] = NAN;
        for (uint32_t label = 0; label < 3; label++) {
            const struct hr_batch_result got = softmax_loss(1, 3, x, &label, NULL);
            assert_true(isnan(got.loss_sum));
            assert_int_equal(got.correct, 0);
        }
    }
}

static void losses_are_rounded_to_float_and_added_in_double(void **state)
{
    (void)state;
    const float x[2] = {0, 0};
    const struct hr_batch_result one = softmax_loss(1, 2, x, (const uint32_t[]){0}, NULL);
    assert_true(one.loss_sum == (double)logf(2.0f));
    const float rows[6] = {0, 0, 1e9f, 0, 0, 0};
    const struct hr_batch_result three =
        softmax_loss(3, 2, rows, (const uint32_t[]){0, 1, 0}, NULL);
    assert_true(three.loss_sum == 1e9 + 2 * one.loss_sum);
}

/* Of values, against the formulas in double, and central differences of the loss. */
enum { ROWS = 5, TARGETS = 3 };

static const float wanted[ROWS * TARGETS] = {0,     1,    -1, 0.5f, 2, -3, 1e-3f, 7,
                                             -0.1f, 0.2f, 0,  0,    5, 4,  -4};

static struct hr_loss_function loss_of_values(enum hr_loss_kind kind)
{
    return (struct hr_loss_function){.kind = kind,
                                     .outputs = TARGETS,
                                     .classes = ROWS,
                                     .delta = 0.8f,
                                     .wanted = {TARGETS, ROWS, wanted}};
}

static double value_of(const struct hr_loss_function *loss, const float *x, size_t row)
{
    double sum = 0;
    for (size_t k = 0; k < TARGETS; k++) {
        const double d = (double)x[k] - (double)wanted[row * TARGETS + k];
        const double delta = (double)loss->delta;
        sum += loss->kind == HR_LOSS_MSE ? d * d
               : fabs(d) <= delta        ? d * d / 2
                                         : delta * (fabs(d) - delta / 2);
    }
    return sum / TARGETS;
}

static void check_values(enum hr_loss_kind kind)
{
    const struct hr_loss_function loss = loss_of_values(kind);
    const double h = 1e-3;
    fill_with_reals(TARGETS);
    for (size_t b = 0; b < MAX_B; b++) {
        uint32_t row = (uint32_t)(b * 3 % ROWS);
        float *x = logits + b * TARGETS, dx[TARGETS];
        for (size_t k = 0; k < TARGETS; k++)
            x[k] *= b % 2 ? 1.0f : 0.1f;
        const struct hr_batch_result got = hr_loss(&loss, 1, x, &row, dx);
        CHECK_NEAR(got.loss_sum, value_of(&loss, x, row), 1e-6, 1e-7);
        assert_int_equal(got.correct, 0);
        for (size_t k = 0; k < TARGETS; k++) {
            const float here = x[k], above = here + (float)h, below = here - (float)h;
            x[k] = above;
            const double more = value_of(&loss, x, row);
            x[k] = below;
            const double less = value_of(&loss, x, row);
            x[k] = here;
            /* Where a corner lies between both, huber's slope is off by no more than the step. */
            CHECK_NEAR((double)dx[k], (more - less) / ((double)above - (double)below), 1e-4, h);
        }
    }
}

static void values_are_learned_by_squares_or_huber(void **state)
{
    (void)state;
    check_values(HR_LOSS_MSE);
    check_values(HR_LOSS_HUBER);
}

/* A row of the table is a sample's, whatever is asked in which order, and in pieces. */
static void pieces_of_a_batch_of_values_give_the_same_bits(void **state)
{
    (void)state;
    const struct hr_loss_function loss = loss_of_values(HR_LOSS_HUBER);
    const uint32_t order[] = {4, 0, 2, 2, 1, 3};
    struct hr_batch_result sum = {0};
    fill_with_reals(TARGETS);
    const struct hr_batch_result whole = hr_loss(&loss, 6, logits, order, dlogits);
    hr_loss_add(&loss, 2, logits, order, NULL, &sum);
    hr_loss_add(&loss, 4, logits + 2 * TARGETS, order + 2, NULL, &sum);
    CHECK_NEAR(sum.loss_sum, whole.loss_sum, 0, 0);
}

static void what_is_no_number_stays_none(void **state)
{
    (void)state;
    const struct hr_loss_function loss = loss_of_values(HR_LOSS_HUBER);
    const float x[] = {NAN, INFINITY, 0};
    const uint32_t row = 0;
    float dx[TARGETS];
    uint32_t answer;
    assert_true(isnan(hr_loss(&loss, 1, x, &row, dx).loss_sum));
    assert_true(isnan(dx[0]));
    hr_loss_answers(&loss, 1, x, &answer);
    assert_int_equal(answer, HR_NO_CLASS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_learned_by_squares_or_huber),
        cmocka_unit_test(pieces_of_a_batch_of_values_give_the_same_bits),
        cmocka_unit_test(what_is_no_number_stays_none),
        cmocka_unit_test(loss_and_gradient_follow_the_formula),
        cmocka_unit_test(loss_without_a_gradient_has_the_same_bits),
        cmocka_unit_test(huge_logits_give_a_finite_loss),
        cmocka_unit_test(first_of_equal_logits_is_the_answer),
        cmocka_unit_test(logits_that_are_no_numbers_are_never_right),
        cmocka_unit_test(losses_are_rounded_to_float_and_added_in_double),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
