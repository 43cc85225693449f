/* What a model's file says of its input. */
#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "session/model_input.h"

/* Put a data set's into a file, and get it back; the caller frees it. */
static struct hr_model_input round_trip(const struct hr_dataset *dataset)
{
    struct hr_model_input input;
    const size_t room = hr_model_input_entries(dataset);
    struct hr_metadata *metadata = calloc(room, sizeof *metadata);
    struct hr_checkpoint *checkpoint = calloc(1, sizeof *checkpoint);
    checkpoint->model.metadata = metadata;
    hr_model_input_put(dataset, &checkpoint->model);
    assert_true(checkpoint->model.nmetadata <= room);
    CHECK_OK(hr_model_input_get(checkpoint, &input));
    free(checkpoint);
    free(metadata);
    return input;
}

static void what_is_put_is_got(void **state)
{
    (void)state;
    const char *const names[] = {"sepal length", "a,b", "100 %", " x"};
    const struct hr_dataset csv = {.shape = {4, 1, 1},
                                   .feature_names = names,
                                   .index_base = -1,
                                   .label_column = "column 5, kind, or so"};
    struct hr_model_input input = round_trip(&csv);
    assert_int_equal(input.names.count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(hr_labels_text(&input.names.labels, i), names[i]);
    assert_int_equal(input.label, 5);
    assert_string_equal(input.label_name, "kind, or so");
    assert_int_equal(input.index_base, -1);
    hr_model_input_free(&input);

    const struct hr_dataset libsvm = {.shape = {7, 1, 1}, .index_base = 1};
    input = round_trip(&libsvm);
    assert_int_equal(input.index_base, 1);
    assert_int_equal(input.names.count + input.label, 0);
    hr_model_input_free(&input);

    const struct hr_dataset images = {
        .shape = {3, 32, 31}, .index_base = -1, .label_column = "column 2"};
    input = round_trip(&images);
    assert_int_equal(input.shape.channels, 3);
    assert_int_equal(input.shape.height, 32);
    assert_int_equal(input.shape.width, 31);
    assert_int_equal(input.label, 2);
    assert_string_equal(input.label_name, "");
    hr_model_input_free(&input);
}

static void another_shape_of_as_many_numbers_is_refused(void **state)
{
    (void)state;
    const struct hr_model_input image = {.shape = {3, 8, 8}}, row = {.shape = {192, 1, 1}};
    const struct hr_dataset same = {.shape = {3, 8, 8}}, flat = {.shape = {192, 1, 1}},
                            last = {.name = "x.npy", .shape = {8, 8, 3}},
                            wide = {.name = "x.npy", .shape = {1, 12, 16}};
    CHECK_OK(hr_model_input_check_shape(&image, "m", &same));
    CHECK_OK(hr_model_input_check_shape(&image, "m", &flat));
    CHECK_OK(hr_model_input_check_shape(&row, "m", &wide));
    CHECK_OK(hr_model_input_check_shape(&(struct hr_model_input){0}, "m", &wide));
    CHECK_FAILS(hr_model_input_check_shape(&image, "m", &wide), HR_E_FORMAT);
    CHECK_FAILS(hr_model_input_check_shape(&image, "m", &last), HR_E_FORMAT);
    CHECK_MESSAGE("x.npy: its samples are 8x8x3 (C, H, W), expected 3x8x8, as m was trained on, or "
                  "rows of 192 numbers");
}

static void what_is_damaged_is_refused(void **state)
{
    (void)state;
    static const struct {
        struct hr_metadata entries[2];
        const char *message;
    } wrong[] = {
        {{{"hogring.input", "28x28"}}, "metadata \"hogring.input\" is no shape"},
        {{{"hogring.input", "0x1x1"}}, "metadata \"hogring.input\" is no shape"},
        {{{"hogring.input", "3x1x1"}, {"hogring.feature_names", "a,b"}},
         "has 2 names of 3 features"},
        {{{"hogring.input", "2x1x1"}, {"hogring.feature_names", "a,a"}}, "\"a\" is there twice"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct hr_metadata entries[2] = {wrong[i].entries[0], wrong[i].entries[1]};
        struct hr_checkpoint *checkpoint = calloc(1, sizeof *checkpoint);
        struct hr_model_input input;
        checkpoint->model.metadata = entries;
        checkpoint->model.nmetadata = 2;
        CHECK_FAILS(hr_model_input_get(checkpoint, &input), HR_E_FORMAT);
        CHECK_MESSAGE(wrong[i].message);
        hr_model_input_free(&input);
        free(checkpoint);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_put_is_got),
        cmocka_unit_test(another_shape_of_as_many_numbers_is_refused),
        cmocka_unit_test(what_is_damaged_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
