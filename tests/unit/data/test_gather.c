/* Gathering: bytes become the same floats on every instruction set, and samples come as asked. */
#include <string.h>

#include "base/philox.h"
#include "data/pixels.h"
#include "hogring/data.h"
#include "support/check.h"

enum { MOST = 803, SAMPLES = 9 };

static uint8_t bytes[SAMPLES * MOST];
static float floats[SAMPLES * MOST];

static void fill(void)
{
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)hr_random_block(check_seed(), HR_STREAM_TEST, i, 0).v[0];
        floats[i] = -0.25f * (float)bytes[i];
    }
}

/* Element by element, through a double that holds both factors exactly. */
static void scale_naive(float *x, const uint8_t *from, float scale, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const volatile double product = (double)scale * (double)from[i];
        x[i] = (float)product;
    }
}

static void check_copy(const struct hr_pixels *pixels)
{
    static const float scales[] = {1.0f / 255.0f, 1.0f / 16.0f, 1.0f, 0.1f};
    for (size_t n = 0; n <= MOST; n += n < 70 ? 1 : 61) {
        for (size_t shift = 0; shift < 5; shift++) {
            float got[MOST + 8], want[MOST + 8];
            memset(got, 0x5a, sizeof got);
            memset(want, 0x5a, sizeof want); /* what lies before and behind must stay */
            const float scale = scales[(n + shift) % 4];
            pixels->to_floats(got + shift, bytes + 3 * shift, scale, n);
            scale_naive(want + shift, bytes + 3 * shift, scale, n);
            CHECK_SAME_FLOATS(got, want, MOST + 8);
        }
    }
}

static void every_instruction_set_scales_bytes_like_the_naive_loop(void **state)
{
    (void)state;
    static const struct hr_pixels *const copies[] = {HR_ISA_COPIES(hr_pixels)};
    fill();
    for (size_t level = 0; level <= hr_isa(); level++)
        check_copy(copies[level]);
}

/* Rows of odd length, in an order of their own; fewer samples than are asked for ahead, too. */
static void rows_and_labels_are_those_of_the_samples_asked_for(void **state)
{
    (void)state;
    static const uint32_t labels[SAMPLES] = {4, 1, 3, 0, 2, 8, 7, 6, 5};
    static const uint32_t samples[] = {8, 0, 3, 3, 7, 1, 6, 2};
    const struct hr_split split = {
        .count = SAMPLES, .pixels = bytes, .values = floats, .labels = labels};
    struct hr_dataset dataset = {.scale = 1.0f / 255.0f, .train = split};
    fill();
    for (size_t features = 1; features <= MOST; features += 401)
        for (size_t n = 0; n <= sizeof samples / sizeof *samples; n++)
            for (int is_bytes = 0; is_bytes < 2; is_bytes++) {
                static float x[8 * MOST], want[8 * MOST];
                uint32_t y[8] = {0};
                dataset.shape = (struct hr_shape){1, 1, features};
                dataset.features = is_bytes ? HR_FEATURES_BYTES : HR_FEATURES_FLOATS;
                for (size_t i = 0; i < n && is_bytes; i++)
                    scale_naive(want + i * features, bytes + samples[i] * features, dataset.scale,
                                features);
                for (size_t i = 0; i < n && !is_bytes; i++)
                    memcpy(want + i * features, floats + samples[i] * features,
                           features * sizeof *want);
                hr_dataset_gather(&dataset, &dataset.train, samples, n, x, y);
                CHECK_SAME_FLOATS(x, want, n * features);
                for (size_t i = 0; i < n; i++)
                    assert_int_equal(y[i], labels[samples[i]]);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_instruction_set_scales_bytes_like_the_naive_loop),
        cmocka_unit_test(rows_and_labels_are_those_of_the_samples_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
