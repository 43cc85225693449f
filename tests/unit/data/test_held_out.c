/* A validation split is drawn by the seed, and nothing else; no sample is in both parts. */
#include "data/held_out.h"

#include <stdlib.h>
#include <string.h>

#include "support/runs.h"

static void each_sample_is_in_one_part(void **state)
{
    (void)state;
    static const double fractions[] = {0.0001, 0.1, 0.5, 0.9999};
    const struct hr_split *all = &run_digits()->train;
    for (size_t f = 0; f < sizeof fractions / sizeof *fractions; f++) {
        struct hr_held_out parts;
        CHECK_OK(hr_held_out_open(run_digits(), fractions[f], 1, &parts));
        const struct hr_split *train = &parts.dataset.train, *held = &parts.dataset.test;
        unsigned char *seen = calloc(all->count, 1);
        assert_int_equal(train->count + held->count, all->count);
        assert_true(train->count > 0 && held->count > 0);
        for (size_t i = 0; i < train->count; i++)
            assert_int_equal(seen[hr_split_row(train, i)]++, 0);
        for (size_t i = 0; i < held->count; i++)
            assert_int_equal(seen[hr_split_row(held, i)]++, 0);
        free(seen);
        hr_held_out_close(&parts);
    }
}

/* Gathered by its number in the part, a sample is the one of its row. */
static void samples_are_those_of_their_rows(void **state)
{
    (void)state;
    static float got[64], want[64];
    struct hr_held_out parts;
    CHECK_OK(hr_held_out_open(run_digits(), 0.3, 1, &parts));
    for (uint32_t i = 0; i < parts.dataset.test.count; i++) {
        const uint32_t row = (uint32_t)hr_split_row(&parts.dataset.test, i);
        uint32_t y[2];
        hr_dataset_gather(&parts.dataset, &parts.dataset.test, &i, 1, got, &y[0]);
        hr_dataset_gather(run_digits(), &run_digits()->train, &row, 1, want, &y[1]);
        CHECK_SAME_FLOATS(got, want, 64);
        assert_int_equal(y[0], y[1]);
    }
    hr_held_out_close(&parts);
}

static void the_seed_draws_them(void **state)
{
    (void)state;
    struct hr_held_out a, again, b;
    CHECK_OK(hr_held_out_open(run_digits(), 0.25, 1, &a));
    CHECK_OK(hr_held_out_open(run_digits(), 0.25, 1, &again));
    CHECK_OK(hr_held_out_open(run_digits(), 0.25, 2, &b));
    const size_t bytes = a.dataset.test.count * sizeof *a.chosen;
    assert_memory_equal(a.chosen, again.chosen, bytes);
    assert_memory_not_equal(a.chosen, b.chosen, bytes);
    hr_held_out_close(&a);
    hr_held_out_close(&again);
    hr_held_out_close(&b);
}

static void one_sample_cannot_be_parted(void **state)
{
    (void)state;
    struct hr_dataset one = *run_digits();
    struct hr_held_out parts;
    one.train.count = 1;
    CHECK_FAILS(hr_held_out_open(&one, 0.5, 1, &parts), HR_E_USAGE);
    hr_held_out_close(&parts);
}

/* The test split stands in for a file's samples. */
static void a_file_validates_and_the_rest_is_trained_on(void **state)
{
    (void)state;
    struct hr_dataset with = *run_digits();
    struct hr_held_out parts;
    with.validation = with.test;
    with.validation.count = 7;
    assert_true(hr_held_out_asked(&with, 0));
    assert_true(hr_held_out_asked(run_digits(), 0.1));
    assert_false(hr_held_out_asked(run_digits(), 0));
    CHECK_OK(hr_held_out_open(&with, 0, 1, &parts));
    assert_int_equal(parts.dataset.test.count, 7);
    assert_int_equal(parts.dataset.train.count, with.train.count);
    assert_int_equal(parts.dataset.validation.count, 0);
    assert_null(parts.chosen);
    hr_held_out_close(&parts);
    CHECK_FAILS(hr_held_out_open(&with, 0.1, 1, &parts), HR_E_USAGE);
    hr_held_out_close(&parts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_sample_is_in_one_part),
        cmocka_unit_test(samples_are_those_of_their_rows),
        cmocka_unit_test(the_seed_draws_them),
        cmocka_unit_test(one_sample_cannot_be_parted),
        cmocka_unit_test(a_file_validates_and_the_rest_is_trained_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
