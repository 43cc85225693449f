/* The bytes of exported models, decoded here by the wire format of Protocol Buffers alone.
 * tests/cli/export.bats runs them in onnxruntime, where it is installed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "base/file.h"
#include "export/onnx.h"

/* --- a decoder --- */

struct span {
    const unsigned char *at, *end;
};

static uint64_t take_varint(struct span *s)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        assert_true(s->at < s->end && shift < 64);
        value |= (uint64_t)(*s->at & 127) << shift;
        if (!(*s->at++ & 128))
            return value;
    }
}

/* The next field; false at the end. *body: of a message or text; *number: of all others. */
static bool take_field(struct span *s, unsigned *field, struct span *body, uint64_t *number)
{
    if (s->at == s->end)
        return false;
    const uint64_t tag = take_varint(s);
    *field = (unsigned)(tag >> 3);
    *body = (struct span){s->at, s->at};
    if ((tag & 7) == 0) {
        *number = take_varint(s);
    } else if ((tag & 7) == 5) {
        memcpy(number, s->at, 4);
        s->at += 4;
    } else {
        assert_int_equal(tag & 7, 2);
        const uint64_t length = take_varint(s);
        assert_true(length <= (size_t)(s->end - s->at));
        *body = (struct span){s->at, s->at + length};
        s->at += length;
    }
    return true;
}

/* The first field of that number in a message; an empty span: there is none. */
static struct span find(struct span message, unsigned wanted)
{
    unsigned field;
    uint64_t number;
    struct span body;
    while (take_field(&message, &field, &body, &number))
        if (field == wanted)
            return body;
    return (struct span){NULL, NULL};
}

static uint64_t find_number(struct span message, unsigned wanted)
{
    unsigned field;
    uint64_t number = 0;
    struct span body;
    while (take_field(&message, &field, &body, &number) && field != wanted)
        number = 0;
    return number;
}

static void append(char *list, size_t size, struct span text)
{
    const size_t used = strlen(list);
    snprintf(list + used, size - used, "%s%.*s", used ? " " : "", (int)(text.end - text.at),
             (const char *)text.at);
}

/* One text of each message under `wanted`: its field `inner`. Joined by blanks. */
static char *list_of(struct span message, unsigned wanted, unsigned inner, char list[2048])
{
    unsigned field;
    uint64_t number;
    struct span body;
    list[0] = '\0';
    while (take_field(&message, &field, &body, &number))
        if (field == wanted)
            append(list, 2048, find(body, inner));
    return list;
}

enum { GRAPH = 7, NODES = 1, OP = 4, CONSTANTS = 5, CONSTANT_NAME = 8, RAW = 9 };
enum { INPUTS = 11, OUTPUTS = 12, NAME = 1, METADATA = 14, KEY = 1, VALUE = 2 };

/* --- a whole file --- */

static struct hr_metadata metadata[] = {{"hogring.model", "flatten, dense 2"},
                                        {"hogring.loss", "cross-entropy"},
                                        {"hogring.input", "3x1x1"},
                                        {"hogring.input_scale", "0.5"},
                                        {"hogring.classes", "2"},
                                        {"hogring.class_names", "a%2Cb,c\"d"},
                                        {"hogring.feature_names", "x,y,z"}};
static float weight[6] = {1, 2, 3, 4, 5, 6}, bias[2] = {-1, 0.5f};

static struct hr_checkpoint *make_checkpoint(size_t nmetadata)
{
    static struct hr_tensor tensors[] = {
        {"1.weight", HR_F32, 2, {2, 3}, sizeof weight, weight},
        {"1.bias", HR_F32, 1, {2}, sizeof bias, bias},
    };
    struct hr_checkpoint *checkpoint = calloc(1, sizeof *checkpoint);
    assert_non_null(checkpoint);
    checkpoint->step = 300;
    checkpoint->model = (struct hr_tensor_file){
        .ntensors = 2, .tensors = tensors, .nmetadata = nmetadata, .metadata = metadata};
    snprintf(checkpoint->path, sizeof checkpoint->path, "saved");
    return checkpoint;
}

static void a_checkpoint_becomes_a_file(void **state)
{
    (void)state;
    char path[] = "/tmp/hogring-onnx-XXXXXX", list[2048], *text;
    struct hr_checkpoint *checkpoint = make_checkpoint(7);
    size_t bytes;
    close(mkstemp(path));
    CHECK_OK(hr_onnx_export(path, checkpoint, NULL, (struct hr_shape){0}));
    CHECK_OK(hr_file_read_all(path, 1 << 20, &text, &bytes));
    const struct span model = {(unsigned char *)text, (unsigned char *)text + bytes};
    const struct span graph = find(model, GRAPH), opset = find(model, 8);
    assert_int_equal(find_number(model, 1), 7);
    assert_int_equal(find_number(model, 5), 300);
    assert_int_equal(find_number(opset, 2), 13);
    assert_string_equal(list_of(graph, NODES, OP, list), "Mul Gemm Softmax");
    assert_string_equal(list_of(graph, CONSTANTS, CONSTANT_NAME, list),
                        "input_scale 1.weight 1.bias");
    assert_string_equal(list_of(graph, INPUTS, NAME, list), "input");
    assert_string_equal(list_of(graph, OUTPUTS, NAME, list), "probabilities logits");
    assert_string_equal(list_of(model, METADATA, KEY, list),
                        "model loss input_scale step class_names feature_names");
    assert_non_null(
        strstr(list_of(model, METADATA, VALUE, list), "[\"a,b\",\"c\\\"d\"] [\"x\",\"y\",\"z\"]"));
    assert_non_null(memmem(text, bytes, weight, sizeof weight));
    assert_non_null(memmem(text, bytes, bias, sizeof bias));
    unlink(path);
    free(text);
    free(checkpoint);
}

static void what_cannot_be_exported_is_refused(void **state)
{
    (void)state;
    struct hr_checkpoint *checkpoint = make_checkpoint(2); /* without a shape */
    CHECK_FAILS(hr_onnx_export("/tmp/x.onnx", checkpoint, NULL, (struct hr_shape){0}), HR_E_USAGE);
    CHECK_MESSAGE("saved does not say the shape of its input; --input 1x28x28");
    CHECK_FAILS(hr_onnx_export("/tmp/x.onnx", checkpoint, NULL, (struct hr_shape){4, 1, 1}),
                HR_E_FORMAT);
    CHECK_FAILS(hr_onnx_export("/tmp/x.onnx", checkpoint, "mf", (struct hr_shape){4, 1, 1}),
                HR_E_USAGE);
    CHECK_MESSAGE("mf is a table of users and items");
    checkpoint->model.nmetadata = 0;
    CHECK_FAILS(hr_onnx_export("/tmp/x.onnx", checkpoint, NULL, (struct hr_shape){4, 1, 1}),
                HR_E_FORMAT);
    free(checkpoint);
}

/* --- layers --- */

/* The ops of a model, and of one of its nodes an attribute of whole numbers, as "3 2". */
static void check_ops(const char *layers, struct hr_shape shape, const char *expected)
{
    struct hr_model *model;
    struct hr_protobuf p = {0};
    char list[2048];
    CHECK_OK(hr_model_create(layers, shape, 0, &model));
    float *params = calloc(hr_model_param_count(model), sizeof *params);
    CHECK_OK(hr_onnx_layers(&p, model, params, shape, "input", "logits"));
    CHECK_OK(hr_protobuf_finish(&p));
    assert_string_equal(list_of((struct span){p.bytes, p.bytes + p.length}, NODES, OP, list),
                        expected);
    hr_protobuf_free(&p);
    hr_model_destroy(model);
    free(params);
}

static void every_layer_has_its_node(void **state)
{
    (void)state;
    const struct hr_shape image = {2, 8, 8}, row = {6, 1, 1};
    check_ops("conv 4 3x3, batchnorm, relu, maxpool 2, avgpool 2, flatten, dense 3", image,
              "Conv BatchNormalization Relu MaxPool AveragePool Flatten Gemm");
    check_ops("conv 4 3x3, gelu, globalavgpool, flatten, dense 3", image,
              "Conv Div Erf Add Mul Mul GlobalAveragePool Flatten Gemm");
    check_ops("residual (conv 2 1x1) shortcut (conv 2 1x1, tanh), sigmoid, flatten, dense 3", image,
              "Conv Conv Tanh Add Sigmoid Flatten Gemm");
    check_ops("flatten, dropout 0.5, flatten, dense 3, flatten, dropout 0.5", row, "Gemm Identity");
    check_ops("conv 2 1x1, flatten, dense 3", row, "Reshape Conv Flatten Gemm");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_checkpoint_becomes_a_file),
        cmocka_unit_test(what_cannot_be_exported_is_refused),
        cmocka_unit_test(every_layer_has_its_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
