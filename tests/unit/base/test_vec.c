/* T(n) against a twin that follows the definition, bit by bit. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/philox.h"
#include "base/vec.h"
#include "support/check.h"

enum { MAX_COUNT = 1031 };

static float inputs[HR_VEC_MAX_INPUTS][MAX_COUNT];

static void fill_with_reals(void)
{
    for (uint32_t k = 0; k < HR_VEC_MAX_INPUTS; k++)
        for (size_t i = 0; i < MAX_COUNT; i++)
            inputs[k][i] =
                hr_random_unit(hr_random_block(check_seed(), HR_STREAM_TEST, i, k).v[0]) - 0.5f;
}

/* The definition, one element at a time. */
static float tree_naive(const float *const *x, size_t n, size_t i)
{
    if (n == 1)
        return x[0][i];
    size_t left = 1;
    while (left * 2 < n)
        left *= 2;
    const float a = tree_naive(x, left, i), b = tree_naive(x + left, n - left, i);
    return a + b;
}

static void tree_sum_follows_the_definition_for_every_n(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 7, 255, 256, 257, MAX_COUNT};
    fill_with_reals();
    for (size_t n = 1; n <= HR_VEC_MAX_INPUTS; n += n < 70 ? 1 : 159) {
        const float *x[HR_VEC_MAX_INPUTS];
        for (size_t k = 0; k < n; k++)
            x[k] = inputs[k];
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            float got[2][MAX_COUNT], want[MAX_COUNT];
            for (size_t i = 0; i < counts[c]; i++)
                want[i] = tree_naive(x, n, i);
            float *out[2] = {got[0], got[1]};
            hr_vec()->tree_sum(out, 2, x, n, counts[c]);
            CHECK_SAME_FLOATS(got[0], want, counts[c]);
            CHECK_SAME_FLOATS(got[1], want, counts[c]);
        }
    }
}

static void outputs_may_be_the_inputs(void **state)
{
    (void)state;
    fill_with_reals();
    for (size_t n = 2; n <= 5; n++) {
        static float work[5][MAX_COUNT];
        const float *x[5], *original[5];
        float *out[5], want[MAX_COUNT];
        memcpy(work, inputs, sizeof work);
        for (size_t k = 0; k < n; k++) {
            x[k] = out[k] = work[k];
            original[k] = inputs[k];
        }
        for (size_t i = 0; i < MAX_COUNT; i++)
            want[i] = tree_naive(original, n, i);
        hr_vec()->tree_sum(out, n, x, n, MAX_COUNT);
        for (size_t k = 0; k < n; k++)
            CHECK_SAME_FLOATS(work[k], want, MAX_COUNT);
    }
}

static void add_scale_and_axpy_round_as_written(void **state)
{
    (void)state;
    fill_with_reals();
    float y[MAX_COUNT], want[MAX_COUNT];
    memcpy(y, inputs[0], sizeof y);
    hr_vec()->add(y, inputs[1], MAX_COUNT);
    hr_vec()->scale(y, 0.3f, MAX_COUNT);
    hr_vec()->axpy(y, -0.7f, inputs[2], MAX_COUNT);
    for (size_t i = 0; i < MAX_COUNT; i++) {
        const volatile float sum = inputs[0][i] + inputs[1][i];
        const volatile float scaled = 0.3f * sum;
        const volatile float product = -0.7f * inputs[2][i];
        want[i] = scaled + product;
    }
    CHECK_SAME_FLOATS(y, want, MAX_COUNT);
}

static void exchange_draws_together_as_written(void **state)
{
    (void)state;
    fill_with_reals();
    float x[MAX_COUNT], c[MAX_COUNT], want_x[MAX_COUNT], want_c[MAX_COUNT];
    memcpy(x, inputs[0], sizeof x);
    memcpy(c, inputs[1], sizeof c);
    hr_vec()->exchange(x, c, 0.3f, MAX_COUNT);
    for (size_t i = 0; i < MAX_COUNT; i++) {
        const volatile float apart = inputs[0][i] - inputs[1][i];
        const volatile float d = 0.3f * apart;
        want_x[i] = inputs[0][i] - d;
        want_c[i] = inputs[1][i] + d;
    }
    CHECK_SAME_FLOATS(x, want_x, MAX_COUNT);
    CHECK_SAME_FLOATS(c, want_c, MAX_COUNT);
}

/* Every start within two lines, every count around a vector; what lies beside stays. */
static void copies_past_the_caches_are_copies(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 3, 15, 16, 17, 31, 64, 65, 1000};
    fill_with_reals();
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (size_t shift = 0; shift < 32; shift++) {
            float got[2][MAX_COUNT], want[2][MAX_COUNT];
            memcpy(got, inputs[2], sizeof got);
            memcpy(want, inputs[2], sizeof want);
            float *const out[2] = {got[0] + shift, got[1] + 31 - shift};
            memcpy(want[0] + shift, inputs[1] + shift % 3, counts[c] * sizeof(float));
            memcpy(want[1] + 31 - shift, inputs[1] + shift % 3, counts[c] * sizeof(float));
            hr_vec()->copy_past(out, 2, inputs[1] + shift % 3, counts[c]);
            CHECK_SAME_FLOATS(got[0], want[0], MAX_COUNT);
            CHECK_SAME_FLOATS(got[1], want[1], MAX_COUNT);
        }
}

/* Wherever the one stands that is not, and among values as large and as small as can be. */
static void one_that_is_not_finite_is_found(void **state)
{
    (void)state;
    static const float strange[] = {INFINITY, -INFINITY, NAN};
    static float x[MAX_COUNT];
    for (size_t i = 0; i < MAX_COUNT; i++)
        x[i] = i % 3 ? (i % 2 ? FLT_MAX : -FLT_MAX) : 1e-44f;
    assert_true(hr_vec()->all_finite(x, MAX_COUNT));
    assert_true(hr_vec()->all_finite(x, 0));
    for (size_t i = 0; i < MAX_COUNT; i++) {
        const float before = x[i];
        x[i] = strange[i % 3];
        assert_false(hr_vec()->all_finite(x, MAX_COUNT));
        assert_false(hr_vec()->all_finite(x, i + 1));
        assert_true(hr_vec()->all_finite(x, i));
        x[i] = before;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tree_sum_follows_the_definition_for_every_n),
        cmocka_unit_test(outputs_may_be_the_inputs),
        cmocka_unit_test(copies_past_the_caches_are_copies),
        cmocka_unit_test(one_that_is_not_finite_is_found),
        cmocka_unit_test(add_scale_and_axpy_round_as_written),
        cmocka_unit_test(exchange_draws_together_as_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
