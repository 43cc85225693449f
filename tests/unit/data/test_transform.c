/* Augmentation and scaling, against twins that do it the long way. */
#include "data/transform.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "support/check.h"
#include "support/data_files.h"
#include "support/runs.h"

enum { MAX_SIDE = 9, MAX_CHANNELS = 3, N = 40 };
enum { MAX_FEATURES = MAX_CHANNELS * MAX_SIDE * MAX_SIDE };

static float batch[N * MAX_FEATURES], twin[N * MAX_FEATURES];
static uint32_t samples[N];

/* No zeros among them, so that padding can be told. */
static void fill(size_t count)
{
    for (size_t i = 0; i < count; i++)
        batch[i] = twin[i] = (float)(i + 1);
    for (uint32_t i = 0; i < N; i++)
        samples[i] = 7 * i % N;
}

static void augment(const struct hr_augment *how, struct hr_shape shape, uint64_t pass, size_t n)
{
    float plane[MAX_SIDE * MAX_SIDE];
    const struct hr_augment_key key = {check_seed(), pass, samples};
    hr_augment_apply(how, shape, &key, n, batch, plane);
}

/* As torchvision: pad on all sides, cut (height, width) out at (top, left), then flip. */
static void twin_of_plane(struct hr_shape shape, size_t pad, size_t top, size_t left, bool flip,
                          float *x)
{
    float padded[3 * MAX_SIDE][3 * MAX_SIDE] = {{0}};
    for (size_t i = 0; i < shape.height; i++)
        for (size_t j = 0; j < shape.width; j++)
            padded[i + pad][j + pad] = x[i * shape.width + j];
    for (size_t i = 0; i < shape.height; i++)
        for (size_t j = 0; j < shape.width; j++) {
            const size_t column = flip ? shape.width - 1 - j : j;
            x[i * shape.width + j] = padded[i + top][column + left];
        }
}

static void augment_twin(const struct hr_augment *how, struct hr_shape shape, uint64_t pass)
{
    for (size_t i = 0; i < N; i++) {
        const struct hr_philox draw =
            hr_random_block(check_seed(), HR_STREAM_AUGMENT, pass, samples[i]);
        const uint64_t places = 2 * how->pad + 1;
        for (size_t c = 0; c < shape.channels; c++)
            twin_of_plane(shape, how->pad, (size_t)(draw.v[1] * places >> 32),
                          (size_t)(draw.v[2] * places >> 32), how->flip && draw.v[0] >> 31,
                          twin + (i * shape.channels + c) * shape.height * shape.width);
    }
}

static void flips_and_crops_are_those_of_the_twin(void **state)
{
    (void)state;
    static const struct hr_shape shapes[] = {{1, 2, 2}, {3, 5, 7}, {2, 9, 4}, {1, 8, 8}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t pad = 0; pad < shapes[s].height && pad < shapes[s].width; pad++)
            for (int flip = 0; flip < 2; flip++) {
                const struct hr_augment how = {flip, pad};
                fill(N * hr_shape_elems(shapes[s]));
                augment(&how, shapes[s], 5, N);
                augment_twin(&how, shapes[s], 5);
                CHECK_SAME_FLOATS(batch, twin, N * hr_shape_elems(shapes[s]));
            }
}

/* Whoever decodes sample 7 * i, and with which others, gets the same bits. */
static void a_sample_is_augmented_alike_in_any_batch(void **state)
{
    (void)state;
    const struct hr_shape shape = {3, 5, 7};
    const struct hr_augment how = {true, 2};
    const size_t features = hr_shape_elems(shape);
    fill(N * features);
    augment(&how, shape, 1, N);
    memcpy(twin, batch, sizeof twin);
    fill(0);
    for (size_t i = 0; i < N; i++) {
        float one[MAX_FEATURES], plane[MAX_SIDE * MAX_SIDE];
        const struct hr_augment_key key = {check_seed(), 1, &samples[i]};
        for (size_t j = 0; j < features; j++)
            one[j] = (float)(i * features + j + 1);
        hr_augment_apply(&how, shape, &key, 1, one, plane);
        CHECK_SAME_FLOATS(one, twin + i * features, features);
    }
}

/* 4000 draws: each of the 5 shifts either way, and both answers of the coin, within 5 standard
 * deviations of their share; a pass has draws of its own. */
static void every_shift_and_both_sides_come_equally_often(void **state)
{
    (void)state;
    const struct hr_shape shape = {1, 5, 5};
    const struct hr_augment how = {true, 2};
    size_t seen[5][5] = {{0}}, flipped = 0, other = 0;
    for (uint64_t pass = 0; pass < 100; pass++) {
        fill(N * 25);
        augment(&how, shape, pass, N);
        for (size_t i = 0; i < N; i++) { /* where the middle pixel went */
            const float *x = batch + i * 25, middle = (float)(i * 25 + 13);
            size_t at = 0;
            while (x[at] != middle)
                at++;
            seen[at / 5][at % 5]++;
            const size_t beside = at % 5 ? at - 1 : at + 1;
            flipped += (x[beside] > middle) == (beside < at);
        }
        other += memcmp(batch, twin, sizeof(float) * N * 25) != 0;
        memcpy(twin, batch, sizeof(float) * N * 25);
    }
    for (size_t i = 0; i < 25; i++)
        CHECK_NEAR((double)seen[i / 5][i % 5], 160, 0, 5 * 12.4);
    CHECK_NEAR((double)flipped, 2000, 0, 5 * 31.6);
    assert_int_equal(other, 100);
}

static void words_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"spin",   "flip,",   "crop",   "crop:",      "crop:0",
                                        "crop:8", "crop:2x", "flip:1", "flip crop:1"};
    struct hr_augment how;
    const struct hr_shape image = {3, 8, 9}, row = {30, 1, 1};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_FAILS(hr_augment_parse(wrong[i], image, &how), HR_E_USAGE);
        CHECK_MESSAGE("--augment");
    }
    CHECK_FAILS(hr_augment_parse("flip", row, &how), HR_E_USAGE);
    CHECK_MESSAGE("only images");
    CHECK_OK(hr_augment_parse("", row, &how));
    assert_false(how.flip || how.pad);
    CHECK_OK(hr_augment_parse("crop:7,flip", image, &how));
    assert_true(how.flip && how.pad == 7);
}

/* Per channel in long double, straight from the definition. */
static void check_scaling(struct hr_dataset dataset, struct hr_shape shape)
{
    struct hr_scaling scaling;
    const size_t count = dataset.train.count, features = hr_shape_elems(shape);
    const size_t pixels = shape.height * shape.width;
    float *x = malloc(count * features * sizeof *x);
    uint32_t *all = malloc(count * sizeof *all);
    uint32_t *y = malloc(count * sizeof *y);
    assert_true(x && all && y);
    for (uint32_t i = 0; i < count; i++)
        all[i] = i;
    dataset.shape = shape;
    hr_dataset_gather(&dataset, &dataset.train, all, count, x, y);
    CHECK_OK(hr_scaling_measure(&dataset, &scaling));
    assert_int_equal(scaling.channels, shape.channels);
    for (size_t c = 0; c < shape.channels; c++) {
        long double sum = 0, squares = 0;
        const long double n = (long double)(count * pixels);
        for (size_t i = 0; i < count * pixels; i++)
            sum += x[(i / pixels * shape.channels + c) * pixels + i % pixels];
        for (size_t i = 0; i < count * pixels; i++) {
            const long double d =
                x[(i / pixels * shape.channels + c) * pixels + i % pixels] - sum / n;
            squares += d * d;
        }
        CHECK_NEAR((double)scaling.mean[c], (double)(sum / n), 1e-7, 0);
        CHECK_NEAR((double)scaling.std[c], squares > 0 ? sqrt((double)(squares / n)) : 1, 1e-7, 0);
    }
    for (size_t i = 0; i < 3 * features; i++)
        x[i] = (x[i] - scaling.mean[i / pixels % shape.channels]) /
               scaling.std[i / pixels % shape.channels];
    float *got = malloc(3 * features * sizeof *got);
    assert_non_null(got);
    hr_dataset_gather(&dataset, &dataset.train, all, 3, got, y);
    hr_scaling_apply(&scaling, shape, 3, got);
    CHECK_SAME_FLOATS(got, x, 3 * features);
    hr_scaling_free(&scaling);
    free(got);
    free(x);
    free(all);
    free(y);
}

/* The digits as one channel, as two planes of 32, and as rows of 64 features; of those the first is
 * 0 in all samples. */
static void channels_are_measured_and_scaled(void **state)
{
    (void)state;
    check_scaling(*run_digits(), (struct hr_shape){1, 8, 8});
    check_scaling(*run_digits(), (struct hr_shape){2, 4, 8});
    check_scaling(*run_digits(), (struct hr_shape){64, 1, 1});
}

/* The twin is in double: (x - mean) / std, rounded at the end. A feature that floats tell apart has
 * the bits that it has without the other. */
static void large_numbers_are_rounded_behind_the_subtraction(void **state)
{
    (void)state;
    struct hr_dataset d;
    struct hr_scaling scaling;
    float x[2];
    uint32_t y;
    double mean = 0, squares = 0;
    CHECK_OK(hr_dataset_open(data_stamps("stamps"), &d));
    assert_int_equal(d.rounding[0].distinct, 99); /* of the training split */
    assert_int_equal(d.rounding[0].left, 2);
    assert_int_equal(d.rounding[1].distinct, 0);
    CHECK_OK(hr_scaling_measure(&d, &scaling));
    const double n = (double)d.train.count;
    for (size_t i = 0; i < d.train.count; i++)
        mean += (d.train.exact[2 * i] - DATA_STAMP) / n;
    for (size_t i = 0; i < d.train.count; i++)
        squares += pow(d.train.exact[2 * i] - DATA_STAMP - mean, 2) / n;
    for (uint32_t i = 0; i < d.test.count; i++) {
        const double stamp = d.test.exact[2 * i] - DATA_STAMP;
        hr_scaling_gather(&scaling, &d, &d.test, &i, 1, x, &y);
        CHECK_SAME_FLOATS(&x[1], &d.test.values[2 * i + 1], 1);
        hr_scaling_apply(&scaling, d.shape, 1, x);
        CHECK_NEAR((double)x[0], (stamp - mean) / sqrt(squares), 1e-6, 1e-6);
        assert_string_equal(d.class_names[y], stamp < 50 ? "early" : "late");
    }
    hr_scaling_free(&scaling);
    hr_dataset_close(&d);
}

static void without_channels_nothing_is_scaled(void **state)
{
    (void)state;
    const struct hr_scaling none = {0};
    fill(64);
    hr_scaling_apply(&none, (struct hr_shape){1, 8, 8}, 1, batch);
    CHECK_SAME_FLOATS(batch, twin, 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flips_and_crops_are_those_of_the_twin),
        cmocka_unit_test(a_sample_is_augmented_alike_in_any_batch),
        cmocka_unit_test(every_shift_and_both_sides_come_equally_often),
        cmocka_unit_test(words_that_make_no_sense_are_refused),
        cmocka_unit_test(channels_are_measured_and_scaled),
        cmocka_unit_test_setup_teardown(large_numbers_are_rounded_behind_the_subtraction,
                                        scratch_setup, scratch_teardown),
        cmocka_unit_test(without_channels_nothing_is_scaled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
