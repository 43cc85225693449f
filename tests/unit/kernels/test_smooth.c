/* The smooth activations over the whole range of floats, against double, with the bounds that
 * smooth.h states. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/smooth.h"
#include "support/check.h"

/* A prime: 2 million floats of every size and sign, and no two runs of bits alike. */
enum { STRIDE = 2039, BLOCK = 1024 };

typedef void (*kernel_fn)(size_t count, const float *x, float *y);
typedef double (*exact_fn)(double x);

static double exact_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double exact_gelu(double x)
{
    return x * erfc(-x / sqrt(2)) / 2;
}

static double exact_gelu_slope(double x)
{
    return erfc(-x / sqrt(2)) / 2 + x * exp(-x * x / 2) / sqrt(2 * M_PI);
}

static void gelu_slope(size_t count, const float *x, float *y)
{
    static float ones[BLOCK];
    for (size_t i = 0; i < BLOCK; i++)
        ones[i] = 1;
    hr_smooth()->gelu_backward(count, x, ones, y);
}

/* |got - exact| <= rtol |exact| + atol + xtol |x| for every STRIDE-th finite float. */
static void check_all(kernel_fn kernel, exact_fn exact, double rtol, double atol, double xtol)
{
    static float x[BLOCK], y[BLOCK];
    for (uint64_t bits = 0; bits < (uint64_t)1 << 32;) {
        size_t count = 0;
        for (; count < BLOCK && bits < (uint64_t)1 << 32; bits += STRIDE) {
            const uint32_t word = (uint32_t)bits;
            memcpy(&x[count], &word, sizeof word);
            count += isfinite(x[count]) ? 1 : 0;
        }
        kernel(count, x, y);
        for (size_t i = 0; i < count; i++) {
            const double want = exact((double)x[i]);
            CHECK_NEAR((double)y[i], want, rtol, atol + xtol * fabs((double)x[i]));
        }
    }
}

static void sigmoid_keeps_its_bound_for_all_floats(void **state)
{
    (void)state;
    check_all(hr_smooth()->sigmoid, exact_sigmoid, 2.5e-7, 2e-38, 0);
}

static void tanh_keeps_its_bound_for_all_floats(void **state)
{
    (void)state;
    check_all(hr_smooth()->tanh, tanh, 2.5e-7, 0, 0);
}

static void gelu_keeps_its_bound_for_all_floats(void **state)
{
    (void)state;
    check_all(hr_smooth()->gelu, exact_gelu, 0, 1e-44, 5e-7);
    check_all(gelu_slope, exact_gelu_slope, 0, 1e-6, 0);
}

static void gradients_follow_from_the_outputs(void **state)
{
    (void)state;
    enum { N = 101 };
    float y[N], dy[N], dx[N];
    for (size_t i = 0; i < N; i++) {
        y[i] = (float)i / 101;
        dy[i] = (float)i - 50;
    }
    hr_smooth()->sigmoid_backward(N, y, dy, dx);
    for (size_t i = 0; i < N; i++)
        CHECK_NEAR((double)dx[i], (double)dy[i] * y[i] * (1 - (double)y[i]), 3e-7, 0);
    hr_smooth()->tanh_backward(N, y, dy, dx);
    for (size_t i = 0; i < N; i++)
        CHECK_NEAR((double)dx[i], (double)dy[i] * (1 - (double)y[i] * y[i]), 3e-7, 0);
}

static void what_is_not_a_number_stays_so(void **state)
{
    (void)state;
    const kernel_fn kernels[] = {hr_smooth()->sigmoid, hr_smooth()->tanh, hr_smooth()->gelu};
    const float x[19] = {0, 0, NAN, [17] = NAN}; /* in a vector, and in the rest */
    float y[19];
    for (size_t k = 0; k < 3; k++) {
        kernels[k](19, x, y);
        assert_true(isnan(y[2]) && isnan(y[17]) && !isnan(y[3]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sigmoid_keeps_its_bound_for_all_floats),
        cmocka_unit_test(tanh_keeps_its_bound_for_all_floats),
        cmocka_unit_test(gelu_keeps_its_bound_for_all_floats),
        cmocka_unit_test(gradients_follow_from_the_outputs),
        cmocka_unit_test(what_is_not_a_number_stays_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
