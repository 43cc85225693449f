/* Where models are cut: evenly, by the counts of the documents, and as given; and what is
 * refused. */
#include <string.h>

#include "stages/cut.h"
#include "support/check.h"

static struct hr_model *create(const char *list)
{
    struct hr_model *model;
    CHECK_OK(hr_model_create(list, (struct hr_shape){1, 28, 28}, 10, &model));
    return model;
}

/* Parts between their first layers. */
static void check_cut(const char *list, const char *text, size_t parts, const size_t *want)
{
    struct hr_model *model = create(list);
    size_t cut[16];
    CHECK_OK(hr_cut_model(model, text, parts, cut));
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

static void a_block_is_one_layer_of_the_list(void **state)
{
    (void)state;
    /* 0 conv, 1 batchnorm, 2 relu, then a block of layers 3 to 8 */
    static const char blocks[] =
        "conv 4 3x3 pad 1, batchnorm, relu, residual (conv 4 3x3 pad 1, batchnorm, relu, conv 4 "
        "3x3 pad 1, batchnorm), relu, flatten, dense 10";
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
    CHECK_FAILS(hr_cut_model(model, text, parts, cut), HR_E_USAGE);
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
        cmocka_unit_test(a_block_is_one_layer_of_the_list),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
