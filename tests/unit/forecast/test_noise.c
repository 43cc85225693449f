/* The noise scale: against the paper's estimate from two batch sizes, against NumPy, and of a
 * quadratic whose scale is known. */
#include <math.h>

#include "base/philox.h"
#include "forecast/noise.h"
#include "support/check.h"

enum { N = 6, D = 4 };

/* Six gradients of batches of 8, as tests/peers/noise_scale.py has them. */
static const double gradients[N][D] = {{1, 2, -1, 0.5},     {1.5, 1, 0, 1},  {0.5, 2.5, -1.5, 0},
                                       {2, 1.5, -0.5, 0.5}, {1, 3, -1, 1.5}, {0, 1.5, 0.5, -0.5}};

static void multiply(const double *g, size_t n, size_t d, double *products)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            products[i * n + j] = 0;
            for (size_t k = 0; k < d; k++)
                products[i * n + j] += g[i * d + k] * g[j * d + k];
        }
}

/* Appendix A.1: |G|^2 and tr S from the squares of norms at b and at n b. */
static void it_is_the_papers_from_norms_at_two_batch_sizes(void **state)
{
    (void)state;
    double products[N * N], small = 0, big = 0;
    multiply(&gradients[0][0], N, D, products);
    for (size_t i = 0; i < N; i++)
        small += products[i * N + i] / N;
    for (size_t i = 0; i < N * N; i++)
        big += products[i] / (N * N);
    const double b = 8, B = N * 8;
    const double gradient2 = (B * big - b * small) / (B - b);
    const double trace = (small - big) / (1 / b - 1 / B);
    const struct hr_noise noise = hr_noise_estimate(products, N, 8);
    CHECK_NEAR(noise.gradient2, gradient2, 1e-12, 0);
    CHECK_NEAR(noise.trace, trace, 1e-12, 0);
    CHECK_NEAR(noise.scale, trace / gradient2, 1e-12, 0);
}

static void numpy_comes_to_the_same_with_its_interval(void **state)
{
    (void)state;
    double products[N * N];
    multiply(&gradients[0][0], N, D, products);
    const struct hr_noise noise = hr_noise_estimate(products, N, 8);
    CHECK_NEAR(noise.gradient2, 4.916666666666667, 1e-9, 0);
    CHECK_NEAR(noise.trace, 16.66666666666666, 1e-9, 0);
    CHECK_NEAR(noise.scale, 3.389830508474575, 1e-9, 0);
    CHECK_NEAR(noise.low, 0.4494, 1e-3, 0); /* NumPy looks at a grid of 1e-4 */
    CHECK_NEAR(noise.high, 41.5801, 1e-5, 0);
}

/* --- a quadratic: the loss of sample x is |w - x|^2 / 2, x normal around 0 with deviation 1 --- */

/* Nearly normal: the sum of twelve. */
static double draw(uint64_t seed, uint64_t index)
{
    double sum = -6;
    for (uint32_t k = 0; k < 3; k++) {
        const struct hr_philox block = hr_random_block(seed, HR_STREAM_TEST, index, k);
        for (size_t i = 0; i < 4; i++)
            sum += (double)block.v[i] * 0x1p-32;
    }
    return sum;
}

enum { DIMENSIONS = 12, BATCHES = 24, BATCH = 4 };

/* The gradient is w - x: G = w, tr S = DIMENSIONS; of a batch the mean. */
static struct hr_noise of_quadratic(uint64_t seed, double w)
{
    static double g[BATCHES * DIMENSIONS], products[BATCHES * BATCHES];
    for (size_t i = 0; i < BATCHES * DIMENSIONS; i++)
        g[i] = w + draw(seed, i) / sqrt(BATCH);
    multiply(g, BATCHES, DIMENSIONS, products);
    return hr_noise_estimate(products, BATCHES, BATCH);
}

/* B_noise = DIMENSIONS / (DIMENSIONS w^2) = 1 / w^2. */
static void a_known_scale_is_met_without_bias_and_covered(void **state)
{
    (void)state;
    enum { TIMES = 300 };
    const double w = 0.5;
    double gradient2 = 0, trace = 0;
    size_t covered = 0;
    for (uint64_t seed = 1; seed <= TIMES; seed++) {
        const struct hr_noise noise = of_quadratic(seed, w);
        gradient2 += noise.gradient2 / TIMES;
        trace += noise.trace / TIMES;
        covered += noise.low <= 1 / (w * w) && 1 / (w * w) <= noise.high;
    }
    CHECK_NEAR(gradient2, DIMENSIONS * w * w, 0.02, 0);
    CHECK_NEAR(trace, DIMENSIONS, 0.02, 0);
    assert_in_range(covered, TIMES * 90 / 100, TIMES * 99 / 100);
}

static void noise_alone_has_no_upper_end(void **state)
{
    (void)state;
    size_t open = 0;
    for (uint64_t seed = 1; seed <= 40; seed++)
        open += isinf(of_quadratic(seed, 0).high);
    assert_in_range(open, 36, 40);
}

static void costs_of_samples_are_the_papers(void **state)
{
    (void)state;
    CHECK_NEAR(hr_noise_cost(64, 32, 256), (1 + 256. / 64) / (1 + 32. / 64), 1e-12, 0);
    CHECK_NEAR(hr_noise_cost(INFINITY, 32, 256), 1, 0, 0);
    CHECK_NEAR(hr_noise_cost(0, 32, 256), 8, 1e-12, 0); /* no noise: a sample is as good as all */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_the_papers_from_norms_at_two_batch_sizes),
        cmocka_unit_test(numpy_comes_to_the_same_with_its_interval),
        cmocka_unit_test(a_known_scale_is_met_without_bias_and_covered),
        cmocka_unit_test(noise_alone_has_no_upper_end),
        cmocka_unit_test(costs_of_samples_are_the_papers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
