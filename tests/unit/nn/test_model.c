/* Tensors, initial values and counts of models. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "nn/model.h"
#include "support/check.h"

static struct hr_model *create(const char *description)
{
    struct hr_model *model;
    CHECK_OK(hr_model_create(description, (struct hr_shape){1, 28, 28}, 10, &model));
    return model;
}

static void tensors_lie_as_a_pytorch_state_dict_end_to_end(void **state)
{
    (void)state;
    static const struct hr_tensor_info want[] = {
        {"1.weight", 2, {256, 784}, 0, 200704, HR_TENSOR_TRAINED},
        {"1.bias", 1, {256}, 200704, 256, HR_TENSOR_TRAINED},
        {"3.weight", 2, {128, 256}, 200960, 32768, HR_TENSOR_TRAINED},
        {"3.bias", 1, {128}, 233728, 128, HR_TENSOR_TRAINED},
        {"5.weight", 2, {10, 128}, 233856, 1280, HR_TENSOR_TRAINED},
        {"5.bias", 1, {10}, 235136, 10, HR_TENSOR_TRAINED},
    };
    struct hr_model *model = create("mlp");
    assert_int_equal(hr_model_tensor_count(model), 6);
    assert_int_equal(hr_model_param_count(model), 235146);
    for (size_t t = 0; t < 6; t++) {
        const struct hr_tensor_info *got = hr_model_tensor(model, t);
        assert_string_equal(got->name, want[t].name);
        assert_int_equal(got->ndim, want[t].ndim);
        assert_memory_equal(got->shape, want[t].shape, sizeof got->shape);
        assert_int_equal(got->offset, want[t].offset);
        assert_int_equal(got->count, want[t].count);
    }
    hr_model_destroy(model);
}

static void work_of_a_sample_is_counted_without_the_first_input_gradient(void **state)
{
    (void)state;
    struct hr_model *model = create("mlp");
    const double first = 784 * 256, others = 256 * 128 + 128 * 10;
    CHECK_NEAR(hr_model_madds(model), 2 * first + 3 * others, 0, 0);
    hr_model_destroy(model);
}

/* Two layers have parameters: behind each, what is done of a gradient. What joins them has none. */
static void gradients_are_final_from_the_last_layer_to_the_first(void **state)
{
    (void)state;
    struct hr_model *model = create("flatten, dense 6, relu, dense 10");
    const double first = 784 * 6, second = 6 * 10;
    struct hr_model_final at;
    assert_true(hr_model_final(model, 0, &at));
    assert_int_equal(at.offset, 784 * 6 + 6);
    CHECK_NEAR(at.share, (first + 3 * second) / (2 * first + 3 * second), 1e-12, 0);
    assert_true(hr_model_final(model, 1, &at));
    assert_int_equal(at.offset, 0);
    CHECK_NEAR(at.share, 1, 1e-12, 0);
    assert_false(hr_model_final(model, 2, &at));
    hr_model_destroy(model);
}

static void initial_values_are_philox_by_seed_tensor_and_element(void **state)
{
    (void)state;
    const uint64_t seed = 0x123456789abcdef0;
    struct hr_model *model = create("flatten, dense 6, relu, dense 10");
    float *w = malloc(hr_model_param_count(model) * sizeof *w);
    hr_model_init(model, seed, w);
    for (uint32_t t = 0; t < 4; t++) {
        const struct hr_tensor_info *info = hr_model_tensor(model, t);
        const float bound = (float)(1 / sqrt(t < 2 ? 784 : 6)); /* the bias has the weight's */
        for (size_t i = 0; i < info->count; i++) {
            const struct hr_philox block = hr_random_block(seed, HR_STREAM_INIT, i / 4, t);
            const float unit = (float)(block.v[i % 4] >> 8) / 16777216.0f;
            const float want = (unit * 2 - 1) * bound;
            CHECK_SAME_FLOATS(&w[info->offset + i], &want, 1);
        }
    }
    free(w);
    hr_model_destroy(model);
}

static void initial_values_never_change_between_releases(void **state)
{
    (void)state;
    static const float first[4] = {-0x1.f4a4e6p-6f, -0x1.bfeba6p-6f, -0x1.fb479cp-7f,
                                   -0x1.0d341cp-5f},
                       last[2] = {-0x1.663fp-6f, -0x1.271438p-8f};
    struct hr_model *model = create("mlp");
    float *w = malloc(hr_model_param_count(model) * sizeof *w);
    hr_model_init(model, 1, w);
    CHECK_SAME_FLOATS(w, first, 4);
    CHECK_SAME_FLOATS(w + 235144, last, 2);
    free(w);
    hr_model_destroy(model);
}

static void initial_values_are_uniform_around_zero(void **state)
{
    (void)state;
    struct hr_model *model = create("mlp");
    float *w = malloc(hr_model_param_count(model) * sizeof *w);
    hr_model_init(model, check_seed(), w);
    const size_t count = hr_model_tensor(model, 0)->count;
    double sum = 0, squares = 0, largest = 0;
    for (size_t i = 0; i < count; i++) {
        const double unit = (double)w[i] * 28; /* bound 1/sqrt(784) */
        sum += unit;
        squares += unit * unit;
        largest = fmax(largest, fabs(unit));
    }
    /* Six standard deviations of the mean and of the variance of 200,704 uniform numbers. */
    CHECK_NEAR(sum / (double)count, 0, 0, 6 * sqrt(1.0 / 3 / (double)count));
    CHECK_NEAR(squares / (double)count, 1.0 / 3, 0, 6 * sqrt(4.0 / 45 / (double)count));
    assert_true(largest <= 1 + 1e-6 && largest > 0.999);
    free(w);
    hr_model_destroy(model);
}

static void seeds_and_tensors_do_not_share_numbers(void **state)
{
    (void)state;
    struct hr_model *model = create("flatten, dense 784, dense 784, dense 10");
    const size_t count = hr_model_param_count(model);
    float *one = malloc(count * sizeof *one), *two = malloc(count * sizeof *two);
    hr_model_init(model, 1, one);
    hr_model_init(model, 2, two);
    const float *second = one + hr_model_tensor(model, 2)->offset;
    assert_memory_not_equal(one, two, 64 * sizeof *one);
    assert_memory_not_equal(one, second, 64 * sizeof *one);
    free(one);
    free(two);
    hr_model_destroy(model);
}

static void workspaces_too_large_to_address_are_refused(void **state)
{
    (void)state;
    struct hr_workspace *workspace;
    struct hr_model *model = create("mlp");
    CHECK_FAILS(hr_workspace_create(model, SIZE_MAX / 2, NULL, &workspace), HR_E_NOMEM);
    CHECK_MESSAGE("samples");
    hr_workspace_destroy(NULL);
    hr_model_destroy(model);
    hr_model_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_lie_as_a_pytorch_state_dict_end_to_end),
        cmocka_unit_test(work_of_a_sample_is_counted_without_the_first_input_gradient),
        cmocka_unit_test(gradients_are_final_from_the_last_layer_to_the_first),
        cmocka_unit_test(initial_values_are_philox_by_seed_tensor_and_element),
        cmocka_unit_test(initial_values_never_change_between_releases),
        cmocka_unit_test(initial_values_are_uniform_around_zero),
        cmocka_unit_test(seeds_and_tensors_do_not_share_numbers),
        cmocka_unit_test(workspaces_too_large_to_address_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
