/* The chosen kernels against products summed in double, the reference against its definition. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "base/isa.h"
#include "kernels/select.h"
#include "products/gemm.h"
#include "products/gemm_naive.h"
#include "products/ready.h"
#include "support/check.h"

enum {
    MAX_SIDE = 131,
    MAX_ELEMS = MAX_SIDE * MAX_SIDE,
    GUARD = 64,
    MAX_THREADS = 3,
    SCRATCH = 1 << 23
};

static float a[MAX_ELEMS], b[MAX_ELEMS], c[MAX_ELEMS + GUARD], bias[MAX_SIDE];
static _Alignas(64) unsigned char scratch[SCRATCH];

static void fill_with_reals(float *x, uint32_t sequence)
{
    for (size_t i = 0; i < MAX_ELEMS; i++)
        x[i] =
            hr_random_unit(hr_random_block(check_seed(), HR_STREAM_TEST, i, sequence).v[0]) - 0.5f;
}

struct form {
    const char *name;
    int a_transposed, b_transposed;
    enum hr_gemm_form form;
    void (*reference)(size_t M, size_t N, size_t K, const float *a, const float *b, float *c);
};

static const struct form forms[] = {
    {"nn", 0, 0, HR_GEMM_NN, hr_gemm_naive_nn},
    {"nt", 0, 1, HR_GEMM_NT, hr_gemm_naive_nt},
    {"tn", 1, 0, HR_GEMM_TN, hr_gemm_naive_tn},
};
enum { NFORMS = sizeof forms / sizeof *forms };

static struct hr_gemm gemm_of(const struct form *form, size_t M, size_t N, size_t K)
{
    assert_true(hr_gemm_scratch_bytes(K, MAX_THREADS) <= SCRATCH - 4096);
    return (struct hr_gemm){.form = form->form,
                            .M = M,
                            .N = N,
                            .K = K,
                            .a = a,
                            .b = b,
                            .c = c,
                            .scratch = scratch,
                            .threads = 1};
}

/* 0, 1, primes, and both sides of the sizes that kernels are cut at. */
static const size_t sides[] = {0, 1, 2, 7, 16, 17, 64, MAX_SIDE};
enum { NSIDES = sizeof sides / sizeof *sides };

/* |error| <= K * 2^-24 * sum |a b| holds for every order of addition, fused or not; and one more
 * rounding for the bias. */
static void check_product(const struct form *form, const struct hr_gemm *gemm)
{
    const size_t M = gemm->M, N = gemm->N, K = gemm->K;
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < N; j++) {
            double sum = 0, magnitude = 0;
            for (size_t k = 0; k < K; k++) {
                const float x = form->a_transposed ? a[k * M + i] : a[i * K + k];
                const float y = form->b_transposed ? b[j * K + k] : b[k * N + j];
                sum += (double)x * (double)y;
                magnitude += fabs((double)x * (double)y);
            }
            if (gemm->bias)
                sum += (double)bias[j], magnitude += fabs((double)bias[j]);
            if (gemm->relu)
                sum = fmax(sum, 0);
            const double bound = (double)(K + 1) * 0x1p-24 * magnitude;
            if (!(fabs((double)c[i * N + j] - sum) <= bound))
                print_error("%s %zux%zux%zu at (%zu,%zu)\n", form->name, M, N, K, i, j);
            CHECK_NEAR((double)c[i * N + j], sum, 0, bound);
        }
    for (size_t i = M * N; i < M * N + GUARD; i++)
        assert_true(isnan(c[i])); /* nothing is written behind the end */
}

static void fill_all(void)
{
    fill_with_reals(a, 0);
    fill_with_reals(b, 1);
    for (size_t j = 0; j < MAX_SIDE; j++)
        bias[j] = a[MAX_ELEMS - 1 - j];
}

/* Bias and relu change from shape to shape, so that each form meets all four. */
static void check_shape(const struct form *form, size_t M, size_t N, size_t K, size_t way)
{
    struct hr_gemm gemm = gemm_of(form, M, N, K);
    gemm.bias = way & 1 ? bias : NULL;
    gemm.relu = way & 2;
    memset(c, 0xff, sizeof c); /* NaN: what is there before must not matter */
    memset(scratch, 0xff, sizeof scratch);
    hr_gemm(&gemm);
    check_product(form, &gemm);
    for (size_t i = hr_gemm_scratch_bytes(K, 1), end = i + 4096; i < end; i++)
        assert_int_equal(scratch[i], 0xff);
}

static void sweep(void)
{
    fill_all();
    for (size_t f = 0; f < NFORMS; f++)
        for (size_t at = 0; at < NSIDES * NSIDES * NSIDES; at++)
            check_shape(&forms[f], sides[at % NSIDES], sides[at / NSIDES % NSIDES],
                        sides[at / NSIDES / NSIDES], at % 5);
}

static void chosen_kernels_multiply_every_shape(void **state)
{
    (void)state;
    CHECK_OK(hr_kernels_init_process(1));
    sweep();
}

/* Both sides of blocks of k, by our own products and by OpenBLAS. */
static void long_sums_are_added_up_too(void **state)
{
    (void)state;
    static const size_t lengths[] = {
        192, 193, 1024, 1025, 4096, 4097,
    };
    fill_all();
    for (size_t f = 0; f < NFORMS; f++)
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
            for (size_t way = 0; way < 4; way++)
                check_shape(&forms[f], 1 + way % 3, 3 - way % 3, lengths[k], way);
}

/* OpenBLAS as oracle: the same shapes, small and large, all its. */
static void openblas_agrees(void **state)
{
    (void)state;
#ifndef HR_NO_BLAS
    CHECK_OK(hr_kernels_select(HR_KERNELS_OPENBLAS));
    CHECK_OK(hr_kernels_init_process(1));
    sweep();
    long_sums_are_added_up_too(state);
    CHECK_OK(hr_kernels_select(HR_KERNELS_FAST));
#endif
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    static float alone[MAX_ELEMS];
    fill_all();
    for (size_t f = 0; f < NFORMS; f++)
        for (size_t K = 63; K <= 131; K += 34) {
            struct hr_gemm gemm = gemm_of(&forms[f], 131, 127, K);
            gemm.bias = bias;
            hr_gemm(&gemm);
            memcpy(alone, c, sizeof alone);
            for (gemm.threads = 2; gemm.threads <= MAX_THREADS; gemm.threads++) {
                memset(c, 0xff, sizeof c);
                hr_gemm(&gemm);
                CHECK_SAME_FLOATS(c, alone, gemm.M * gemm.N);
            }
        }
}

/* The bits that are the same on every machine: those of the naive loops, element by element. */
static void reference_gives_the_bits_of_the_naive_loops(void **state)
{
    (void)state;
    static float want[MAX_ELEMS];
    const enum hr_kernels before =
        hr_kernels_are_reference() ? HR_KERNELS_REFERENCE : HR_KERNELS_FAST;
    fill_all();
    CHECK_OK(hr_kernels_select(HR_KERNELS_REFERENCE));
    for (size_t f = 0; f < NFORMS; f++)
        for (size_t at = 0; at < NSIDES * NSIDES * NSIDES; at++) {
            const size_t M = sides[at % NSIDES], N = sides[at / NSIDES % NSIDES];
            const size_t K = sides[at / NSIDES / NSIDES];
            const struct hr_gemm gemm = gemm_of(&forms[f], M, N, K);
            hr_gemm(&gemm);
            forms[f].reference(M, N, K, a, b, want);
            CHECK_SAME_FLOATS(c, want, M * N);
        }
    CHECK_OK(hr_kernels_select(before));
}

static void reference_adds_in_increasing_k(void **state)
{
    (void)state;
    enum { M = 5, N = 19, K = 101 };
    fill_with_reals(a, 2);
    fill_with_reals(b, 3);
    for (size_t f = 0; f < NFORMS; f++) {
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
    const struct hr_gemm gemm = gemm_of(&forms[1], M, N, K);
    hr_gemm(&gemm);
    CHECK_SAME_FLOATS(c, want, M * N);
#ifdef HR_NO_BLAS
    CHECK_FAILS(hr_kernels_select(HR_KERNELS_FAST), HR_E_USAGE);
    CHECK_MESSAGE("no BLAS");
#else
    CHECK_OK(hr_kernels_select(HR_KERNELS_OPENBLAS));
    assert_true(hr_kernels_use_blas());
    assert_memory_equal(hr_kernels_name(), "OpenBLAS ", 9);
    CHECK_OK(hr_kernels_select(HR_KERNELS_FAST));
    assert_int_equal(hr_kernels_use_blas(), hr_isa() == HR_ISA_PLAIN);
    assert_memory_equal(hr_kernels_name(), hr_kernels_use_blas() ? "OpenBLAS" : "tiles ", 6);
#endif
}

/* The same product of matrices that are parts of larger ones. */
static void check_gaps(const struct form *form, size_t M, size_t N, size_t K)
{
    enum { GAP = 5 };
    static float wide_a[2 * MAX_ELEMS], wide_b[2 * MAX_ELEMS], wide_c[MAX_ELEMS], want[MAX_ELEMS];
    struct hr_gemm gemm = gemm_of(form, M, N, K);
    const size_t a_rows = form->a_transposed ? K : M, a_row = form->a_transposed ? M : K;
    const size_t b_rows = form->b_transposed ? N : K, b_row = form->b_transposed ? K : N;
    gemm.bias = bias;
    gemm.relu = true;
    gemm.c = want;
    hr_gemm(&gemm);
    for (size_t i = 0; i < a_rows; i++)
        memcpy(wide_a + i * (a_row + GAP), a + i * a_row, a_row * sizeof *a);
    for (size_t i = 0; i < b_rows; i++)
        memcpy(wide_b + i * (b_row + GAP), b + i * b_row, b_row * sizeof *b);
    memset(wide_c, 0xff, sizeof wide_c);
    gemm.a = wide_a;
    gemm.b = wide_b;
    gemm.c = wide_c;
    gemm.a_row = a_row + GAP;
    gemm.b_row = b_row + GAP;
    gemm.c_row = N + GAP;
    hr_gemm(&gemm);
    for (size_t i = 0; i < M; i++) {
        CHECK_SAME_FLOATS(wide_c + i * (N + GAP), want + i * N, N);
        for (size_t j = 0; j < GAP; j++)
            assert_true(isnan(wide_c[i * (N + GAP) + N + j])); /* what stands between rows stays */
    }
}

static void gaps_between_rows_change_no_bit(void **state)
{
    (void)state;
    CHECK_OK(hr_kernels_init_process(1));
    fill_all();
    for (int way = 0; way < 2; way++) {
        for (size_t f = 0; f < NFORMS; f++) {
            check_gaps(&forms[f], 13, 9, 0);
            check_gaps(&forms[f], 13, 9, 17);
            check_gaps(&forms[f], 70, 40, 64);
            check_gaps(&forms[f], 2, 2, 4200);
        }
        CHECK_OK(hr_kernels_select(HR_KERNELS_REFERENCE));
    }
    CHECK_OK(hr_kernels_select_named("fast", false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chosen_kernels_multiply_every_shape),
        cmocka_unit_test(long_sums_are_added_up_too),
        cmocka_unit_test(openblas_agrees),
        cmocka_unit_test(gaps_between_rows_change_no_bit),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(reference_gives_the_bits_of_the_naive_loops),
        cmocka_unit_test(reference_adds_in_increasing_k),
        cmocka_unit_test(selected_kernels_are_named_and_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
