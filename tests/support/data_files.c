#include "support/data_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hr_data_options data_options(void)
{
    struct hr_data_options options;
    hr_data_defaults(&options);
    return options;
}

void data_text(const char *name, const char *text)
{
    scratch_write(name, text, strlen(text));
}

const char *data_stamps(const char *name)
{
    char text[400 * 32] = "x,z,label\n";
    size_t used = strlen(text);
    for (int i = 0; i < 400; i++) {
        const int t = i * 37 % 100;
        used += (size_t)snprintf(text + used, sizeof text - used, "%d,%d.1,%s\n", DATA_STAMP + t,
                                 i % 7, t < 50 ? "early" : "late");
    }
    data_text(name, text);
    return scratch(name);
}

struct hr_dataset data_open(const char *name, const struct hr_data_options *options)
{
    struct hr_dataset dataset;
    CHECK_OK(hr_dataset_open_with(scratch(name), options, &dataset));
    return dataset;
}

void data_refused(const char *name, const struct hr_data_options *options, enum hr_status status,
                  const char *text)
{
    struct hr_dataset dataset, untouched;
    memset(&dataset, 0x5a, sizeof dataset);
    untouched = dataset;
    CHECK_FAILS(hr_dataset_open_with(scratch(name), options, &dataset), status);
    CHECK_MESSAGE(text);
    assert_null(strchr(hr_error_message(), '\n'));
    assert_memory_equal(&dataset, &untouched, sizeof dataset);
}

void data_sample(const struct hr_dataset *dataset, const struct hr_split *split, uint32_t i,
                 const float *features, uint32_t label)
{
    const size_t n = hr_shape_elems(dataset->shape);
    float *x = malloc(n * sizeof *x);
    uint32_t y = UINT32_MAX;
    memset(x, 0xff, n * sizeof *x);
    hr_dataset_gather(dataset, split, &i, 1, x, &y);
    CHECK_SAME_FLOATS(x, features, n);
    assert_int_equal(y, label);
    free(x);
}

static void same_split(const struct hr_dataset *a, const struct hr_split *x,
                       const struct hr_dataset *b, const struct hr_split *y)
{
    const size_t n = hr_shape_elems(a->shape);
    float *features = malloc(n * sizeof *features);
    uint32_t label;
    assert_int_equal(x->count, y->count);
    for (uint32_t i = 0; i < x->count; i++) {
        hr_dataset_gather(a, x, &i, 1, features, &label);
        data_sample(b, y, i, features, label);
    }
    free(features);
}

void data_same(const struct hr_dataset *a, const struct hr_dataset *b)
{
    assert_memory_equal(&a->shape, &b->shape, sizeof a->shape);
    assert_int_equal(a->features, b->features);
    assert_int_equal(a->classes, b->classes);
    assert_string_equal(a->digest, b->digest);
    assert_int_equal(!a->class_names, !b->class_names);
    for (size_t i = 0; a->class_names && i < a->classes; i++)
        assert_string_equal(a->class_names[i], b->class_names[i]);
    same_split(a, &a->train, b, &b->train);
    same_split(a, &a->test, b, &b->test);
}
