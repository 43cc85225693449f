/* Made-up rows: sizes, frequencies and norms as asked for; one seed, one file. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hogring/checkpoint.h"
#include "support/data_files.h"
#include "support/sparse_data.h"

/* XXH3 of the file's bytes, whatever they are. */
static void digest_of(const struct hr_sparse_shape *shape, char digest[33])
{
    size_t bytes;
    remove(scratch("made"));
    CHECK_OK(hr_sparse_make(scratch("made"), shape));
    unsigned char *text = scratch_read("made", &bytes);
    float *padded = calloc(bytes / 4 + 1, 4);
    memcpy(padded, text, bytes);
    hr_digest_floats(padded, bytes / 4 + 1, digest);
    free(padded);
    free(text);
}

static void a_seed_gives_one_file_on_every_machine(void **state)
{
    (void)state;
    struct hr_sparse_shape shape;
    char first[33], again[33], other[33];
    hr_sparse_shape_defaults(&shape);
    shape.rows = 500;
    digest_of(&shape, first);
    digest_of(&shape, again);
    shape.seed = 2;
    digest_of(&shape, other);
    assert_string_equal(first, again);
    assert_string_not_equal(first, other);
    assert_string_equal(first, "878ca97ead667abd62439ec6b76c46a1");
}

static int falling(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x > y ? -1 : x < y;
}

/* Least squares of ln frequency over ln rank, ranks [from, to). */
static double slope_of(const uint32_t *degree, size_t from, size_t to)
{
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (size_t k = from; k < to; k++) {
        const double u = log((double)k), v = log((double)degree[k - 1]);
        n++, x += u, y += v, xx += u * u, xy += u * v;
    }
    return (n * xy - x * y) / (n * xx - x * x);
}

static void check_rows(const struct hr_split *split, uint32_t *degree)
{
    for (size_t i = 0; i < split->count; i++) {
        double squares = 0;
        for (uint64_t k = split->rows[i]; k < split->rows[i + 1]; k++) {
            degree[split->columns[k]]++;
            assert_true(split->values[k] > 0);
            squares += (double)split->values[k] * (double)split->values[k];
        }
        CHECK_NEAR(squares, 1, 1e-4, 0);
    }
}

static void sizes_frequencies_and_norms_are_as_asked_for(void **state)
{
    (void)state;
    static const double exponents[] = {1, 0.7};
    for (size_t e = 0; e < 2; e++) {
        struct hr_sparse_shape shape;
        hr_sparse_shape_defaults(&shape);
        shape.rows = 8000;
        shape.exponent = exponents[e];
        remove(scratch("made"));
        CHECK_OK(hr_sparse_make(scratch("made"), &shape));
        struct hr_dataset data = data_open("made", NULL);
        uint32_t *degree = calloc(shape.features, sizeof *degree);
        check_rows(&data.train, degree);
        check_rows(&data.test, degree);
        const double pairs =
            (double)(data.train.rows[data.train.count] + data.test.rows[data.test.count]);
        CHECK_NEAR(pairs / (double)shape.rows, 74, 0.02, 0);
        qsort(degree, data.shape.channels, sizeof *degree, falling);
        CHECK_NEAR(slope_of(degree, 100, 1000), -shape.exponent, 0.06, 0);
        CHECK_NEAR((double)data.train.count, 6400, 0, 0);
        free(degree);
        hr_dataset_close(&data);
    }
}

static void refused(struct hr_sparse_shape shape, const char *text)
{
    CHECK_FAILS(hr_sparse_make(scratch("made"), &shape), HR_E_USAGE);
    CHECK_MESSAGE(text);
    assert_false(scratch_exists("made"));
}

static void shapes_that_cannot_be_are_refused(void **state)
{
    (void)state;
    struct hr_sparse_shape shape, bad;
    hr_sparse_shape_defaults(&shape);
    bad = shape;
    bad.rows = 1;
    refused(bad, "--rows 1: expected 2 to 2^31 - 1");
    bad = shape;
    bad.features = 1;
    refused(bad, "--features 1: expected 2 to 2^31 - 1");
    bad = shape;
    bad.nonzeros = 50000;
    refused(bad, "--nonzeros 50000: expected 1 to --features 47236");
    bad = shape;
    bad.exponent = NAN;
    refused(bad, "--exponent nan: expected 0 to 10");
    bad = shape;
    bad.noise = 0.6;
    refused(bad, "--noise 0.6: expected 0 to 0.5");
}

static void a_row_may_have_every_feature_and_a_file_is_not_overwritten(void **state)
{
    (void)state;
    struct hr_sparse_shape shape;
    hr_sparse_shape_defaults(&shape);
    shape.rows = 200;
    shape.features = 6;
    shape.nonzeros = 6;
    shape.exponent = 10;
    CHECK_OK(hr_sparse_make(scratch("made"), &shape));
    struct hr_dataset data = data_open("made", NULL);
    size_t full = 0;
    for (size_t i = 0; i < data.train.count; i++)
        full += data.train.rows[i + 1] - data.train.rows[i] == 6;
    assert_true(full > 20);
    hr_dataset_close(&data);
    CHECK_FAILS(hr_sparse_make(scratch("made"), &shape), HR_E_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_seed_gives_one_file_on_every_machine, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(sizes_frequencies_and_norms_are_as_asked_for, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(shapes_that_cannot_be_are_refused, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(a_row_may_have_every_feature_and_a_file_is_not_overwritten,
                                        scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
