/* The chosen kernels, and the reference, against products summed in double. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifndef HR_NO_BLAS
#include <cblas.h>
#endif

#include "base/philox.h"
#include "nn/gemm.h"
#include "nn/gemm_naive.h"
#include "support/check.h"

typedef void (*product_fn)(size_t M, size_t N, size_t K, const float *a, const float *b, float *c);

enum { MAX_SIDE = 131, MAX_ELEMS = MAX_SIDE * MAX_SIDE, GUARD = 64 };

static float a[MAX_ELEMS], b[MAX_ELEMS], c[MAX_ELEMS + GUARD];

static void fill_with_reals(float *x, uint32_t sequence)
{
    for (size_t i = 0; i < MAX_ELEMS; i++)
        x[i] =
            hr_random_unit(hr_random_block(check_seed(), HR_STREAM_TEST, i, sequence).v[0]) - 0.5f;
}

/* Which operands are stored transposed. */
struct form {
    const char *name;
    int a_transposed, b_transposed;
    product_fn chosen, reference;
};

static const struct form forms[] = {
    {"nn", 0, 0, hr_gemm_nn, hr_gemm_naive_nn},
    {"nt", 0, 1, hr_gemm_nt, hr_gemm_naive_nt},
    {"tn", 1, 0, hr_gemm_tn, hr_gemm_naive_tn},
};

/* 0, 1, primes, and both sides of the sizes that kernels are cut at. */
static const size_t sides[] = {0, 1, 2, 7, 16, 17, 64, MAX_SIDE};
enum { NSIDES = sizeof sides / sizeof *sides };

/* |error| <= K * 2^-24 * sum |a b| holds for every order of addition, fused or not. */
static void check_product(const struct form *form, size_t M, size_t N, size_t K)
{
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < N; j++) {
            double sum = 0, magnitude = 0;
            for (size_t k = 0; k < K; k++) {
                const float x = form->a_transposed ? a[k * M + i] : a[i * K + k];
                const float y = form->b_transposed ? b[j * K + k] : b[k * N + j];
                sum += (double)x * (double)y;
                magnitude += fabs((double)x * (double)y);
            }
            const double bound = (double)K * 0x1p-24 * magnitude;
            if (!(fabs((double)c[i * N + j] - sum) <= bound))
                print_error("%s %zux%zux%zu at (%zu,%zu)\n", form->name, M, N, K, i, j);
            CHECK_NEAR((double)c[i * N + j], sum, 0, bound);
        }
    for (size_t i = M * N; i < M * N + GUARD; i++)
        assert_true(isnan(c[i])); /* nothing is written behind the end */
}

static void sweep(int reference)
{
    fill_with_reals(a, 0);
    fill_with_reals(b, 1);
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
        for (size_t at = 0; at < NSIDES * NSIDES * NSIDES; at++) {
            const size_t M = sides[at % NSIDES], N = sides[at / NSIDES % NSIDES];
            const size_t K = sides[at / NSIDES / NSIDES];
            memset(c, 0xff, sizeof c); /* NaN: what is there before must not matter */
            (reference ? forms[f].reference : forms[f].chosen)(M, N, K, a, b, c);
            check_product(&forms[f], M, N, K);
        }
}

static void chosen_kernels_multiply_every_shape(void **state)
{
    (void)state;
    hr_kernels_init_process();
    sweep(0);
}

static void reference_kernels_multiply_every_shape(void **state)
{
    (void)state;
    sweep(1);
}

static void reference_adds_in_increasing_k(void **state)
{
    (void)state;
    enum { M = 5, N = 19, K = 101 };
    fill_with_reals(a, 2);
    fill_with_reals(b, 3);
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        float want[M * N];
        for (size_t i = 0; i < M * N; i++) {
            volatile float sum = 0;
            for (size_t k = 0; k < K; k++) {
                const volatile float product =
                    a[forms[f].a_transposed ? k * M + i / N : i / N * K + k] *
                    b[forms[f].b_transposed ? i % N * K + k : k * N + i % N];
                sum = sum + product;
            }
            want[i] = sum;
        }
        forms[f].reference(M, N, K, a, b, c);
        CHECK_SAME_FLOATS(c, want, M * N);
    }
}

static void selected_kernels_are_named_and_used(void **state)
{
    (void)state;
    enum { M = 3, N = 4, K = 100 };
    float want[M * N];
    fill_with_reals(a, 4);
    fill_with_reals(b, 5);
    hr_gemm_naive_nt(M, N, K, a, b, want);
    CHECK_OK(hr_kernels_select(HR_KERNELS_REFERENCE));
    assert_string_equal(hr_kernels_name(), "reference");
    hr_gemm_nt(M, N, K, a, b, c);
    CHECK_SAME_FLOATS(c, want, M * N);
#ifdef HR_NO_BLAS
    CHECK_FAILS(hr_kernels_select(HR_KERNELS_FAST), HR_E_USAGE);
    CHECK_MESSAGE("no BLAS");
#else
    CHECK_OK(hr_kernels_select(HR_KERNELS_FAST));
    assert_memory_equal(hr_kernels_name(), "OpenBLAS ", 9);
#endif
}

static void blas_has_one_thread_once_a_process_will_compute(void **state)
{
    (void)state;
#ifndef HR_NO_BLAS
    openblas_set_num_threads(2);
    hr_kernels_init_process();
    assert_int_equal(openblas_get_num_threads(), 1);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chosen_kernels_multiply_every_shape),
        cmocka_unit_test(reference_kernels_multiply_every_shape),
        cmocka_unit_test(reference_adds_in_increasing_k),
        cmocka_unit_test(selected_kernels_are_named_and_used),
        cmocka_unit_test(blas_has_one_thread_once_a_process_will_compute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
