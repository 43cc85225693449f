/* Where models are cut: evenly, by the counts of the documents, and as given; and what is
 * refused. */
#include <string.h>

#include "pipeline/schedule.h"
#include "stages/cut.h"
#include "support/check.h"

static struct hr_model *create(const char *list)
{
    struct hr_model *model;
    CHECK_OK(hr_model_create(list, (struct hr_shape){1, 28, 28}, 10, &model));
    return model;
}

static enum hr_status cut_into(const struct hr_model *model, const char *text, size_t parts,
                               size_t *cut)
{
    const struct hr_pipeline_shape shape = {parts, parts, 1};
    return hr_cut_model(model, text, &hr_schedule_1f1b, &shape, cut);
}

/* Parts between their first layers. */
static void check_cut(const char *list, const char *text, size_t parts, const size_t *want)
{
    struct hr_model *model = create(list);
    size_t cut[16];
    CHECK_OK(cut_into(model, text, parts, cut));
    for (size_t p = 0; p + 1 < parts; p++)
        assert_int_equal(cut[p], want[p]);
    hr_model_destroy(model);
}

static void the_largest_part_is_smallest(void **state)
{
    (void)state;
    /* Twice 78400 in the first layer, whose input has no gradient, three times 10000 behind it. */
    static const char even[] =
        "flatten, dense 100, relu, dense 100, relu, dense 100, relu, dense 10";
    check_cut(even, "auto", 1, NULL);
    check_cut(even, "auto", 2, (const size_t[]){3});
    check_cut("mlp", "auto", 3, (const size_t[]){3, 5});
    check_cut("flatten, dense 784, relu, dense 784, relu, dense 784, relu, dense 784, relu, "
              "dense 10",
              "auto", 3, (const size_t[]){5, 7});
}

static int64_t takes(const struct hr_model *model, const size_t *cut,
                     const struct hr_pipeline_shape *shape)
{
    struct hr_part_cost cost[16];
    struct hr_pipeline_walk walk;
    hr_cut_count(model, cut, shape->stages * shape->chunks, cost);
    CHECK_OK(hr_pipeline_walk(&hr_schedule_interleaved, shape,
                              &(struct hr_pipeline_costs){.part = cost}, &walk));
    const int64_t makespan = walk.makespan;
    hr_pipeline_walk_fini(&walk);
    return makespan;
}

/* Two parts a rank: never longer than where parts alone are equal, and in resnet8, whose parts are
 * uneven, shorter on three ranks. */
static void ranks_of_several_parts_take_less_time(void **state)
{
    static const char *const models[] = {"resnet8", "vgg-small"};
    (void)state;
    for (size_t i = 0; i < 2; i++)
        for (size_t K = 2; K <= 4; K++) {
            const struct hr_pipeline_shape shape = {K, 12, 2};
            struct hr_model *model = create(models[i]);
            size_t even[9] = {0}, cut[9] = {0};
            even[2 * K] = cut[2 * K] = hr_model_layer_count(model);
            CHECK_OK(cut_into(model, "auto", 2 * K, even + 1));
            CHECK_OK(hr_cut_model(model, "auto", &hr_schedule_interleaved, &shape, cut + 1));
            const int64_t longer = takes(model, even, &shape), shorter = takes(model, cut, &shape);
            assert_true(shorter <= longer);
            assert_true(i > 0 || K != 3 || shorter < longer);
            hr_model_destroy(model);
        }
}

static void the_message_knows_of_blocks_where_there_are_any(void **state)
{
    (void)state;
    struct hr_model *model = create("residual (conv 1 3x3 pad 1, relu), flatten, dense 10");
    size_t cut[16];
    CHECK_FAILS(cut_into(model, "auto", 9, cut), HR_E_USAGE);
    CHECK_MESSAGE("not 9: a residual block is whole, and a layer stays with the one that does");
    hr_model_destroy(model);
    model = create("mlp");
    CHECK_FAILS(cut_into(model, "auto", 9, cut), HR_E_USAGE);
    CHECK_MESSAGE("not 9: a layer stays with the one that does its work");
    hr_model_destroy(model);
    model = create("residual (conv 1 3x3 pad 1), relu, flatten, dense 10");
    CHECK_FAILS(cut_into(model, "1,3", 2, cut), HR_E_USAGE);
    CHECK_MESSAGE("relu\": the layer before it does its work");
    hr_model_destroy(model);
}

static void a_block_is_one_layer_of_the_list(void **state)
{
    (void)state;
    /* 0 conv, 1 batchnorm, 2 relu, then a block of layers 3 to 8 */
    static const char blocks[] =
        "conv 4 3x3 pad 1, batchnorm, relu, residual (conv 4 3x3 pad 1, batchnorm, relu, conv 4 "
        "3x3 pad 1, batchnorm), gelu, flatten, dense 10";
    char text[40];
    check_cut(blocks, "3,2,2", 3, (const size_t[]){3, 10});
    check_cut(blocks, "3,1,3", 3, (const size_t[]){3, 9});
    struct hr_model *model = create(blocks);
    hr_cut_text(model, 0, 3, text, sizeof text);
    assert_string_equal(text, "0 to 2");
    hr_cut_text(model, 3, 9, text, sizeof text);
    assert_string_equal(text, "3");
    hr_cut_text(model, 3, 10, text, sizeof text);
    assert_string_equal(text, "3 to 4");
    hr_model_destroy(model);
}

static void check_refused(const char *text, size_t parts, const char *why)
{
    struct hr_model *model = create("mlp");
    size_t cut[16];
    CHECK_FAILS(cut_into(model, text, parts, cut), HR_E_USAGE);
    CHECK_MESSAGE(why);
    hr_model_destroy(model);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    check_refused("auto", 4, "the model can be cut into at most 3 parts, not 4");
    check_refused("3,2", 3, "2 parts, expected 3");
    check_refused("3,2,1,1", 3, "4 parts, expected 3");
    check_refused("3,2,2", 3, "7 layers, the model has 6");
    check_refused("1,2,3", 3, "nothing before it has parameters");
    check_refused("2,2,2", 3, "the layer before it does its work");
    check_refused("3,2,x", 3, "expected auto, or the layers of each part");
    check_refused("3,0,3", 3, "expected auto, or the layers of each part");
    check_refused("3,-1,4", 3, "expected auto, or the layers of each part");
    check_refused("3,2,99999999999999999999999", 3, "expected auto, or the layers of each part");
    check_refused("4000000000000000000,4000000000000000000,9", 3, "the model has 6");
    check_refused("", 3, "0 parts, expected 3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_part_is_smallest),
        cmocka_unit_test(ranks_of_several_parts_take_less_time),
        cmocka_unit_test(the_message_knows_of_blocks_where_there_are_any),
        cmocka_unit_test(a_block_is_one_layer_of_the_list),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
