/* Targets are scaled to what the training samples have, in double; kept in a model's file; and
 * errors are what a naive sum in the targets' own units gives. */
#include "session/target_scale.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"

enum { N = 500, TRAIN = 400, K = 3 };

static double values[N * K];
static uint32_t rows[N];
static const char *const names[] = {"price", "year, of birth", "x"};
static struct hr_dataset dataset = {
    .name = "made up",
    .targets = {.count = K, .rows = N, .values = values, .names = names},
    .train = {.count = TRAIN, .labels = rows},
    .test = {.count = N - TRAIN, .labels = rows + TRAIN},
};

static int fill(void **state)
{
    (void)state;
    for (size_t i = 0; i < N; i++) {
        rows[i] = (uint32_t)(i * 7 % N);
        values[i * K] = 1e9 + 0.001 * (double)(i % 11);
        values[i * K + 1] = 1990 + (double)(i % 30);
        values[i * K + 2] = 1e-6 * (double)(i * i % 13);
    }
    return 0;
}

static double at(const struct hr_split *split, size_t i, size_t k)
{
    return values[split->labels[i] * K + k];
}

static void the_training_samples_have_mean_0_and_deviation_1(void **state)
{
    (void)state;
    struct hr_target_scale scale;
    CHECK_OK(hr_target_scale_begin(&dataset, NULL, true, &scale));
    for (size_t k = 0; k < K; k++) {
        double sum = 0, squares = 0;
        for (size_t i = 0; i < TRAIN; i++) {
            const double v = (double)scale.values[rows[i] * K + k];
            sum += v;
            squares += v * v;
            CHECK_NEAR(hr_target_of_output(&scale, k, (float)v), at(&dataset.train, i, k), 0,
                       1e-7 * 4 * scale.deviation[k] + 2e-16 * fabs(scale.mean[k]));
        }
        /* The mean itself is rounded to a double. */
        CHECK_NEAR(sum / TRAIN, 0, 0, 1e-6 + 2e-16 * fabs(scale.mean[k]) / scale.deviation[k]);
        CHECK_NEAR(squares / TRAIN, 1, 2e-6, 0);
    }
    hr_target_scale_free(&scale);
}

/* Without the test samples, which nobody may look at. */
static void test_samples_decide_nothing(void **state)
{
    (void)state;
    struct hr_target_scale before, after;
    CHECK_OK(hr_target_scale_begin(&dataset, NULL, true, &before));
    values[rows[N - 1] * K] += 1e6;
    CHECK_OK(hr_target_scale_begin(&dataset, NULL, true, &after));
    assert_memory_equal(before.mean, after.mean, K * sizeof *before.mean);
    assert_memory_equal(before.deviation, after.deviation, K * sizeof *before.mean);
    fill(NULL);
    hr_target_scale_free(&before);
    hr_target_scale_free(&after);
}

static void what_is_put_into_a_file_is_got_from_it(void **state)
{
    (void)state;
    struct hr_metadata metadata[1 + K];
    struct hr_checkpoint *checkpoint = calloc(1, sizeof *checkpoint);
    struct hr_target_scale scale, got;
    memset(metadata, 0, sizeof metadata);
    checkpoint->model.metadata = metadata;
    CHECK_OK(hr_target_scale_get(checkpoint, &got));
    assert_int_equal(got.count, 0);
    CHECK_OK(hr_target_scale_begin(&dataset, NULL, true, &scale));
    assert_int_equal(hr_target_scale_entries(&scale), 1 + K);
    hr_target_scale_put(&scale, &checkpoint->model);
    assert_int_equal(checkpoint->model.nmetadata, 1 + K);
    CHECK_OK(hr_target_scale_get(checkpoint, &got));
    assert_memory_equal(got.mean, scale.mean, K * sizeof *got.mean);
    assert_memory_equal(got.deviation, scale.deviation, K * sizeof *got.mean);
    for (size_t k = 0; k < K; k++)
        assert_string_equal(got.name[k], names[k]);
    CHECK_OK(hr_target_scale_apply(&dataset, &got));
    assert_memory_equal(got.values, scale.values, N * K * sizeof *got.values);
    hr_target_scale_free(&got);
    strcpy(metadata[1].value, "1 0 price");
    CHECK_FAILS(hr_target_scale_get(checkpoint, &got), HR_E_FORMAT);
    CHECK_MESSAGE("no mean and deviation above 0");
    hr_target_scale_free(&got);
    hr_target_scale_free(&scale);
    free(checkpoint);
}

static void errors_are_those_of_naive_sums(void **state)
{
    (void)state;
    struct hr_target_scale scale;
    float outputs[(N - TRAIN) * K];
    double sums[2 * K] = {0}, r2 = 0, rmse = 0, mae = 0;
    struct hr_fit each[K];
    const struct hr_split *test = &dataset.test;
    CHECK_OK(hr_target_scale_begin(&dataset, NULL, true, &scale));
    for (size_t i = 0; i < (N - TRAIN) * K; i++)
        outputs[i] = (float)sin((double)i);
    hr_fit_add(&scale, &dataset.targets, 60, outputs, test->labels, sums);
    hr_fit_add(&scale, &dataset.targets, N - TRAIN - 60, outputs + 60 * K, test->labels + 60, sums);
    const struct hr_fit fit = hr_fit_of(&dataset.targets, test, sums, each);
    for (size_t k = 0; k < K; k++) {
        const long double n = N - TRAIN;
        long double squared = 0, absolute = 0, mean = 0, spread = 0;
        for (size_t i = 0; i < test->count; i++)
            mean += (long double)at(test, i, k) / n;
        for (size_t i = 0; i < test->count; i++) {
            const long double y = (long double)at(test, i, k);
            const long double e = (long double)scale.mean[k] +
                                  (long double)scale.deviation[k] * outputs[i * K + k] - y;
            squared += e * e;
            absolute += fabsl(e);
            spread += (y - mean) * (y - mean);
        }
        CHECK_NEAR(each[k].rmse, (double)sqrtl(squared / n), 1e-6, 0);
        CHECK_NEAR(each[k].mae, (double)(absolute / n), 1e-6, 0);
        CHECK_NEAR(each[k].r2, (double)(1 - squared / spread), 1e-5, 1e-6);
        rmse += each[k].rmse / K;
        mae += each[k].mae / K;
        r2 += each[k].r2 / K;
    }
    CHECK_NEAR(fit.rmse, rmse, 1e-15, 0);
    CHECK_NEAR(fit.mae, mae, 1e-15, 0);
    CHECK_NEAR(fit.r2, r2, 1e-12, 0);
    hr_target_scale_free(&scale);
}

/* Nothing varies, so nothing can be explained. */
static void samples_with_one_target_have_no_r2(void **state)
{
    (void)state;
    const double sums[] = {4, 2};
    const struct hr_targets one = {.count = 1, .rows = N, .values = (const double[N]){0}};
    const struct hr_split split = {.count = 4, .labels = (const uint32_t[]){0, 1, 2, 3}};
    const struct hr_fit fit = hr_fit_of(&one, &split, sums, NULL);
    CHECK_NEAR(fit.rmse, 1, 0, 0);
    assert_true(isnan(fit.r2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_training_samples_have_mean_0_and_deviation_1),
        cmocka_unit_test(test_samples_decide_nothing),
        cmocka_unit_test(what_is_put_into_a_file_is_got_from_it),
        cmocka_unit_test(errors_are_those_of_naive_sums),
        cmocka_unit_test(samples_with_one_target_have_no_r2),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}
