/* What a layer list means, and what is said about one that means nothing. */
#include <stdlib.h>
#include <string.h>

#include "nn/layer.h"
#include "nn/model.h"
#include "support/check.h"

static const struct hr_shape image = {1, 28, 28};

static void check_text(const char *description, const char *list)
{
    struct hr_model *model;
    CHECK_OK(hr_model_create(description, image, 10, &model));
    assert_string_equal(hr_model_text(model), list);
    hr_model_destroy(model);
}

static void built_ins_stand_for_their_lists(void **state)
{
    (void)state;
    check_text("softmax", "flatten, dense 10");
    check_text(" mlp\n", "flatten, dense 256, relu, dense 128, relu, dense 10");
    check_text("cnn", "conv 32 3x3 pad 1, relu, maxpool 2, conv 64 3x3 pad 1, relu, maxpool 2, "
                      "flatten, dense 128, relu, dense 10");
    check_text("lenet", "conv 6 5x5 pad 2, relu, maxpool 2, conv 16 5x5, relu, maxpool 2, "
                        "flatten, dense 120, relu, dense 84, relu, dense 10");
}

static void built_ins_have_as_many_outputs_as_there_are_classes(void **state)
{
    (void)state;
    struct hr_model *model;
    CHECK_OK(hr_model_create("softmax", image, 37, &model));
    assert_string_equal(hr_model_text(model), "flatten, dense 37");
    hr_model_destroy(model);
}

static void blanks_do_not_matter(void **state)
{
    (void)state;
    check_text("flatten,dense 10", "flatten, dense 10");
    check_text("flatten,residual(dense 9,tanh)shortcut( dense  9 ),dense 10",
               "flatten, residual (dense 9, tanh) shortcut (dense 9), dense 10");
    check_text("flatten, residual (\nresidual ( relu ) ),dense 10",
               "flatten, residual (residual (relu)), dense 10");
    check_text("\n flatten ,\trelu,\n  dense   0010 \n", "flatten, relu, dense 0010");
}

static void check_error(const char *description, const char *message)
{
    struct hr_model *model = NULL;
    CHECK_FAILS(hr_model_create(description, image, 10, &model), HR_E_USAGE);
    assert_null(model);
    assert_string_equal(hr_error_message(), message);
}

#define LAYERS                                                                                     \
    "(layers: attention, avgpool, batchnorm, conv, dense, dropout, embedding, flatten, gelu, "     \
    "globalavgpool, groupnorm, layernorm, maxpool, position, relu, residual, sigmoid, tanh, tied"
#define MODELS "softmax, mlp, cnn, lenet, vgg-small, resnet8, gpt-nano, gpt-micro"

static void errors_name_the_place_and_the_remedy(void **state)
{
    (void)state;
    static const char *const table[][2] = {
        {"flatten, relu, dens 10",
         "model: layer 2 \"dens 10\": unknown layer, did you mean \"dense\"? " LAYERS ")"},
        {"mlp, cmm",
         "model: layer 0 \"mlp\": is a model of its own and no layer; expected layers, or "
         "names of models alone: " MODELS},
        {"flatten, lstm 10", "model: layer 1 \"lstm 10\": unknown layer " LAYERS ")"},
        {"mpl", "model: layer 0 \"mpl\": unknown layer, did you mean \"mlp\"? " LAYERS
                "; models: " MODELS ")"},
        {"flatten, dense x",
         "model: layer 1 \"dense x\": found \"x\", expected a whole number from 1 to 16777216"},
        {"flatten, dense 0",
         "model: layer 1 \"dense 0\": found \"0\", expected a whole number from 1 to 16777216"},
        {"flatten, dense -3",
         "model: layer 1 \"dense -3\": found \"-3\", expected a whole number from 1 to 16777216"},
        {"flatten, dense 18446744073709551626",
         "model: layer 1 \"dense 18446744073709551626\": found \"18446744073709551626\", expected "
         "a whole number from 1 to 16777216"},
        {"flatten, dense",
         "model: layer 1 \"dense\": expected one number, the outputs, as in \"dense 128\""},
        {"flatten, dense 10 10",
         "model: layer 1 \"dense 10 10\": expected one number, the outputs, as in \"dense 128\""},
        {"flatten 3, dense 10",
         "model: layer 0 \"flatten 3\": found \"3\", expected nothing behind \"flatten\""},
        {"flatten, relu x, dense 10",
         "model: layer 1 \"relu x\": found \"x\", expected nothing behind \"relu\""},
        {"dense 10", "model: layer 0 \"dense 10\": its input has shape (1, 28, 28), expected one "
                     "dimension: put \"flatten\" before it"},
        {"flatten, dense 11",
         "model: layer 1 \"dense 11\": the last layer has 11 outputs, expected 10, the classes "
         "(--classes says which ones the data lacks)"},
        {"relu",
         "model: layer 0 \"relu\": the last layer has outputs of shape (1, 28, 28), expected (10)"},
        {"", "model: layer 0 is empty: expected a layer at \">>> \""},
        {"flatten,, dense 10",
         "model: layer 1 is empty: expected a layer at \"flatten,>>> , dense 10\""},
        {"flatten, dense 10,",
         "model: layer 2 is empty: expected a layer at \"flatten, dense 10,>>> \""},
        {"flatten, dense 1 2 3 4 5 6 7 8 9 a b c", "model: layer 1 \"dense\": more than 12 words"},
        {"flatten, dense 16777216, dense 10",
         "model: layer 1 \"dense 16777216\": the model has more than 2147483648 parameters"},
        {"flatten, relu, dense 10, , dense 10, dense 10, dense 10",
         "model: layer 3 is empty: expected a layer at \"...latten, relu, dense 10, >>> , dense "
         "10, "
         "dense 10, de...\""},
        {"flatten, re\x1blu",
         "model: layer 1 \"re?lu\": unknown layer, did you mean \"relu\"? " LAYERS ")"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        check_error(table[i][0], table[i][1]);
}

static void errors_of_windows_say_what_was_found_and_expected(void **state)
{
    (void)state;
    static const char *const table[][2] = {
        {"conv 8", "model: layer 0 \"conv 8\": expected the output channels and the size of the "
                   "filter, as in \"conv 32 3x3\""},
        {"conv 8 3y3", "model: layer 0 \"conv 8 3y3\": found \"3y3\", expected a whole number from "
                       "1 to 16777216"},
        {"conv 8 3x", "model: layer 0 \"conv 8 3x\": found \"\", expected a whole number from 1 to "
                      "16777216"},
        {"conv 8 3x3 padding 1", "model: layer 0 \"conv 8 3x3 padding 1\": found \"padding\", "
                                 "expected one of: stride, pad, dilation, groups"},
        {"conv 8 3x3 pad 1 pad 2",
         "model: layer 0 \"conv 8 3x3 pad 1 pad 2\": \"pad\" is said twice"},
        {"maxpool 2 stride 2 stride 2",
         "model: layer 0 \"maxpool 2 stride 2 stride 2\": \"stride\" is said twice"},
        {"conv 8 3x3 pad", "model: layer 0 \"conv 8 3x3 pad\": expected a number behind \"pad\""},
        {"conv 8 3x3 pad -1",
         "model: layer 0 \"conv 8 3x3 pad -1\": found \"-1\", expected a whole "
         "number from 0 to 16777216"},
        {"conv 8 3x3 stride 0", "model: layer 0 \"conv 8 3x3 stride 0\": found \"0\", expected a "
                                "whole number from 1 to 16777216"},
        {"conv 8 3x3 stride 257",
         "model: layer 0 \"conv 8 3x3 stride 257\": found stride 257, expected at most 256"},
        {"conv 8 3x3 groups 2", "model: layer 0 \"conv 8 3x3 groups 2\": 2 groups do not divide 1 "
                                "input and 8 output channels"},
        {"conv 8 15x15 dilation 2",
         "model: layer 0 \"conv 8 15x15 dilation 2\": its input has shape (1, 28, 28), with pad 0 "
         "too small for a window of 15x15, dilation 2"},
        {"conv 8 1x1 pad 16777216",
         "model: layer 0 \"conv 8 1x1 pad 16777216\": an input of shape (1, 28, 28) with pad "
         "16777216 has more than 2147483648 elements"},
        {"conv 16777216 1x1", "model: layer 0 \"conv 16777216 1x1\": 16777216 channels of 28x28 "
                              "outputs are more than 2^31 numbers"},
        {"flatten, conv 8 3x3",
         "model: layer 1 \"conv 8 3x3\": its input has shape (784), expected an image (channels, "
         "height, width)"},
        {"maxpool",
         "model: layer 0 \"maxpool\": expected the size of the window, as in \"maxpool 2\""},
        {"maxpool 17", "model: layer 0 \"maxpool 17\": found a window of 17x17, expected at most "
                       "256 pixels"},
        {"avgpool 3 pad 2", "model: layer 0 \"avgpool 3 pad 2\": found pad 2, expected at most "
                            "half the window of 3x3"},
        {"avgpool 2x3", "model: layer 0 \"avgpool 2x3\": expected a stride behind a window of 2x3"},
        {"avgpool 29", "model: layer 0 \"avgpool 29\": its input has shape (1, 28, 28), with pad 0 "
                       "too small for a window of 29x29, dilation 1"},
        {"globalavgpool 2", "model: layer 0 \"globalavgpool 2\": found \"2\", expected nothing "
                            "behind \"globalavgpool\""},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        check_error(table[i][0], table[i][1]);
}

static void errors_in_blocks_quote_the_spot(void **state)
{
    (void)state;
    static const char *const table[][2] = {
        {"flatten, residual dense 3",
         "model: at \"flatten, residual >>> dense 3\": expected \"(\" and the layers of the block"},
        {"flatten, residual (dense 3, relu",
         "model: at \"... residual (dense 3, relu>>> \": expected \")\", the end of the block"},
        {"flatten, residual (relu) shortcut, dense 10",
         "model: at \"...residual (relu) shortcut>>> , dense 10\": expected \"(\" and the layers "
         "of the block"},
        {"flatten, relu), dense 10",
         "model: at \"flatten, relu>>> ), dense 10\": a \")\" without its \"(\""},
        {"flatten, relu (dense 10)",
         "model: at \"flatten, relu >>> (dense 10)\": expected \",\" before the next layer; only "
         "\"residual\" and \"shortcut\" take \"(\""},
        {"flatten, residual (relu) relu, dense 10",
         "model: at \"...latten, residual (relu) >>> relu, dense 10\": expected \",\" before the "
         "next layer; only \"residual\" and \"shortcut\" take \"(\""},
        {"flatten, shortcut (relu)", "model: at \"flatten, shortcut >>> (relu)\": a shortcut "
                                     "stands right behind \"residual (...)\""},
        {"flatten, residual ( ), relu",
         "model: layer 1.body.0 is empty: expected a layer at \"flatten, residual ( >>> ), relu\""},
        {"flatten, residual (relu) shortcut (relu,), dense 10",
         "model: layer 1.shortcut.1 is empty: expected a layer at \"...l (relu) shortcut (relu,>>> "
         "), dense 10\""},
        {"flatten, residual (relu, residual (rel)), dense 10",
         "model: layer 1.body.1.body.0 \"rel\": unknown layer, did you mean \"relu\"? " LAYERS ")"},
        {"flatten, residual (dense 10), dense 10",
         "model: layer 1 \"residual\": its body gives shape (10), its shortcut (784): expected the "
         "same shape"},
        {"residual (residual (residual (residual (residual (relu)))))",
         "model: at \"...ual (residual (residual >>> (relu)))))\": blocks stand in blocks, "
         "expected at most 4 deep"},
        {"flatten, dropout 1, dense 10",
         "model: layer 1 \"dropout 1\": found \"1\", expected a number from 0 to below 1"},
        {"flatten, dropout nan, dense 10",
         "model: layer 1 \"dropout nan\": found \"nan\", expected a number from 0 to below 1"},
        {"flatten, dropout, dense 10", "model: layer 1 \"dropout\": expected one number, the share "
                                       "that is dropped, as in \"dropout 0.5\""},
        {"batchnorm 3",
         "model: layer 0 \"batchnorm 3\": found \"3\", expected nothing behind \"batchnorm\""},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        check_error(table[i][0], table[i][1]);
}

static void what_cannot_be_printed_is_not(void **state)
{
    (void)state;
    struct hr_model *model;
    CHECK_FAILS(hr_model_create("flatten,\v\x1b\t(\x1b, relu", image, 10, &model), HR_E_USAGE);
    CHECK_MESSAGE("flatten, ? ");
}

static void a_model_without_parameters_is_refused(void **state)
{
    (void)state;
    struct hr_model *model;
    CHECK_FAILS(hr_model_create("flatten", (struct hr_shape){1, 2, 5}, 10, &model), HR_E_USAGE);
    CHECK_MESSAGE("nothing can be learned");
}

static void inputs_without_a_size_are_refused(void **state)
{
    (void)state;
    struct hr_model *model;
    const struct hr_shape shapes[] = {{0, 28, 28}, {1, (size_t)1 << 32, (size_t)1 << 32}};
    for (size_t i = 0; i < 2; i++) {
        CHECK_FAILS(hr_model_create("softmax", shapes[i], 10, &model), HR_E_USAGE);
        CHECK_MESSAGE("model: input of shape (");
    }
}

static void too_long_texts_are_refused(void **state)
{
    (void)state;
    struct hr_model *model;
    char text[HR_MODEL_MAX_TEXT + 2];
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '\0';
    CHECK_FAILS(hr_model_create(text, image, 10, &model), HR_E_USAGE);
    CHECK_MESSAGE("4096 characters, expected at most 4095");
    CHECK_FAILS(hr_model_create(text + 1, image, 10, &model), HR_E_USAGE);
    CHECK_MESSAGE("unknown layer");
    for (size_t i = 0; i <= HR_MODEL_MAX_LAYERS; i++)
        memcpy(text + 5 * i, "relu,", 6);
    CHECK_FAILS(hr_model_create(text, image, 10, &model), HR_E_USAGE);
    CHECK_MESSAGE("layer 256: expected at most 256 layers");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(built_ins_stand_for_their_lists),
        cmocka_unit_test(built_ins_have_as_many_outputs_as_there_are_classes),
        cmocka_unit_test(blanks_do_not_matter),
        cmocka_unit_test(errors_name_the_place_and_the_remedy),
        cmocka_unit_test(errors_of_windows_say_what_was_found_and_expected),
        cmocka_unit_test(errors_in_blocks_quote_the_spot),
        cmocka_unit_test(what_cannot_be_printed_is_not),
        cmocka_unit_test(a_model_without_parameters_is_refused),
        cmocka_unit_test(inputs_without_a_size_are_refused),
        cmocka_unit_test(too_long_texts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
