#include "export/onnx.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hogring/sparse.h"
#include "base/file.h"
#include "base/path.h"
#include "base/json.h"
#include "base/log.h"
#include "encode/protobuf.h"
#include "nn/layer.h"
#include "nn/window.h"
#include "options/choices.h"
#include "predict/meaning.h"
#include "session/model_input.h"
#include "session/target_scale.h"
#include "state/model_file.h"
#include "state/state.h"

/* --- the parts of an ONNX GraphProto, written behind one another into one message ---
 *
 * Field numbers are those of onnx.proto (IR version 7); the order of fields is free, so nodes and
 * their weights stand side by side.
 *
 * Errors:  none here; hr_protobuf_finish says whether all of it was written.
 * Threads: none. Test: tests/unit/export/test_onnx.c */

enum { HR_ONNX_NAME = 128 };

struct onnx_name {
    char text[HR_ONNX_NAME];
};

/* GraphProto.input and .output: (batch, shape...) of any batch. */
enum hr_onnx_end { HR_ONNX_INPUT = 11, HR_ONNX_OUTPUT = 12 };

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "raw_data is little-endian");

/* onnx.proto */
enum { GRAPH_NODE = 1, GRAPH_INITIALIZER = 5 };
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OP = 4, NODE_ATTRIBUTE = 5 };
enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_F = 2, ATTRIBUTE_I = 3, ATTRIBUTE_INTS = 8 };
enum { ATTRIBUTE_TYPE = 20, TYPE_FLOAT = 1, TYPE_INT = 2, TYPE_INTS = 7 };
enum { TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, TENSOR_RAW = 9 };
enum { ELEMENT_FLOAT = 1, ELEMENT_INT64 = 7, ELEMENT_DOUBLE = 11 };
enum { VALUE_NAME = 1, VALUE_TYPE = 2, TYPE_TENSOR = 1, TENSOR_ELEMENT = 1, TENSOR_SHAPE = 2 };
enum { SHAPE_DIM = 1, DIM_VALUE = 1, DIM_PARAM = 2 };

/* "3.body.0" and ".weight" -> "3.body.0.weight" */
static struct onnx_name onnx_name(const char *path, const char *suffix)
{
    struct onnx_name name;
    snprintf(name.text, sizeof name.text, "%.110s%s", path, suffix);
    return name;
}

/* A node: begin, attributes, end. inputs: up to five, ended by NULL. */
static size_t onnx_node_begin(struct hr_protobuf *graph, const char *op, const char *name,
                              const char *const *inputs, const char *output)
{
    const size_t begun = hr_protobuf_begin(graph, GRAPH_NODE);
    for (; *inputs; inputs++)
        hr_protobuf_string(graph, NODE_INPUT, *inputs);
    hr_protobuf_string(graph, NODE_OUTPUT, output);
    hr_protobuf_string(graph, NODE_NAME, name);
    hr_protobuf_string(graph, NODE_OP, op);
    return begun;
}

static void onnx_node_end(struct hr_protobuf *graph, size_t begun)
{
    hr_protobuf_end(graph, begun);
}

/* The same without attributes; the node is called as its output is. */
static void onnx_node(struct hr_protobuf *graph, const char *op, const char *const *inputs,
                      const char *output)
{
    onnx_node_end(graph, onnx_node_begin(graph, op, output, inputs, output));
}

static size_t begin_attribute(struct hr_protobuf *graph, const char *name, uint64_t type)
{
    const size_t begun = hr_protobuf_begin(graph, NODE_ATTRIBUTE);
    hr_protobuf_string(graph, ATTRIBUTE_NAME, name);
    hr_protobuf_varint(graph, ATTRIBUTE_TYPE, type);
    return begun;
}

static void onnx_attribute_int(struct hr_protobuf *graph, const char *name, int64_t value)
{
    const size_t begun = begin_attribute(graph, name, TYPE_INT);
    hr_protobuf_varint(graph, ATTRIBUTE_I, (uint64_t)value);
    hr_protobuf_end(graph, begun);
}

static void onnx_attribute_ints(struct hr_protobuf *graph, const char *name, const int64_t *values,
                                size_t count)
{
    const size_t begun = begin_attribute(graph, name, TYPE_INTS);
    hr_protobuf_packed(graph, ATTRIBUTE_INTS, values, count);
    hr_protobuf_end(graph, begun);
}

static void onnx_attribute_float(struct hr_protobuf *graph, const char *name, float value)
{
    const size_t begun = begin_attribute(graph, name, TYPE_FLOAT);
    hr_protobuf_float(graph, ATTRIBUTE_F, value);
    hr_protobuf_end(graph, begun);
}

static void put_tensor(struct hr_protobuf *graph, const char *name, size_t ndim,
                       const int64_t *dims, uint64_t type, const void *data, size_t bytes)
{
    const size_t begun = hr_protobuf_begin(graph, GRAPH_INITIALIZER);
    if (ndim)
        hr_protobuf_packed(graph, TENSOR_DIMS, dims, ndim);
    hr_protobuf_varint(graph, TENSOR_TYPE, type);
    hr_protobuf_string(graph, TENSOR_NAME, name);
    hr_protobuf_bytes(graph, TENSOR_RAW, data, bytes);
    hr_protobuf_end(graph, begun);
}

static void put_numbers(struct hr_protobuf *graph, const char *name, size_t ndim,
                        const size_t *shape, uint64_t type, const void *values, size_t bytes)
{
    int64_t dims[4];
    for (size_t d = 0; d < ndim; d++) {
        dims[d] = (int64_t)shape[d];
        bytes *= shape[d];
    }
    put_tensor(graph, name, ndim, dims, type, values, bytes);
}

/* Constants: float32, float64 and int64. */
static void onnx_floats(struct hr_protobuf *graph, const char *name, size_t ndim,
                        const size_t *shape, const float *values)
{
    put_numbers(graph, name, ndim, shape, ELEMENT_FLOAT, values, sizeof *values);
}

static void onnx_doubles(struct hr_protobuf *graph, const char *name, size_t ndim,
                         const size_t *shape, const double *values)
{
    put_numbers(graph, name, ndim, shape, ELEMENT_DOUBLE, values, sizeof *values);
}

/* y = x as another type, ELEMENT_. */
static void onnx_cast(struct hr_protobuf *graph, const char *x, int64_t type, const char *y)
{
    const size_t node = onnx_node_begin(graph, "Cast", y, (const char *[]){x, NULL}, y);
    onnx_attribute_int(graph, "to", type);
    onnx_node_end(graph, node);
}

static void onnx_scalar(struct hr_protobuf *graph, const char *name, float value)
{
    onnx_floats(graph, name, 0, NULL, &value);
}

static void onnx_ints(struct hr_protobuf *graph, const char *name, size_t count,
                      const int64_t *values)
{
    put_tensor(graph, name, 1, &(int64_t){(int64_t)count}, ELEMENT_INT64, values,
               count * sizeof *values);
}

static void put_dim(struct hr_protobuf *graph, size_t size)
{
    const size_t begun = hr_protobuf_begin(graph, SHAPE_DIM);
    if (size)
        hr_protobuf_varint(graph, DIM_VALUE, size);
    else
        hr_protobuf_string(graph, DIM_PARAM, "batch");
    hr_protobuf_end(graph, begun);
}

static void onnx_value(struct hr_protobuf *graph, enum hr_onnx_end end, const char *name,
                       size_t ndim, const size_t *shape, uint64_t element)
{
    const size_t value = hr_protobuf_begin(graph, end);
    hr_protobuf_string(graph, VALUE_NAME, name);
    const size_t type = hr_protobuf_begin(graph, VALUE_TYPE);
    const size_t tensor = hr_protobuf_begin(graph, TYPE_TENSOR);
    hr_protobuf_varint(graph, TENSOR_ELEMENT, element);
    const size_t dims = hr_protobuf_begin(graph, TENSOR_SHAPE);
    put_dim(graph, 0);
    for (size_t d = 0; d < ndim; d++)
        put_dim(graph, shape[d]);
    hr_protobuf_end(graph, dims);
    hr_protobuf_end(graph, tensor);
    hr_protobuf_end(graph, type);
    hr_protobuf_end(graph, value);
}

/* --- layers as nodes --- */

static const char as_image[] = "input_as_image";

struct writing {
    struct hr_protobuf *graph;
    const struct hr_model *model;
    const float *params;
    const char *input;        /* as flattens read it */
    bool flat;                /* it has two dimensions, and all other layers want four */
    bool masked;              /* attention's mask is written */
    struct onnx_name *values; /* (layers) the name of each one's output */
};

/* The layer in hand. */
struct step {
    struct writing *w;
    const struct hr_layer *layer;
    const char *path, *x, *x2; /* names: its own, its inputs' */
    const char *y;
};

/* Write the layer's tensors as constants; names[] = x, then theirs, then NULL. */
static void put_tensors(const struct step *s, struct onnx_name *names,
                        const char *inputs[HR_LAYER_MAX_TENSORS + 2])
{
    inputs[0] = s->x;
    for (size_t t = 0; t < s->layer->ntensors; t++) {
        const struct hr_tensor_info *info =
            hr_model_tensor(s->w->model, s->layer->first_tensor + t);
        names[t] = onnx_name(info->name, "");
        inputs[t + 1] = names[t].text;
        onnx_floats(s->w->graph, info->name, info->ndim, info->shape, s->w->params + info->offset);
    }
    inputs[s->layer->ntensors + 1] = NULL;
}

static void put_window(const struct step *s, struct hr_protobuf *graph)
{
    const struct hr_window w = hr_window_of(s->layer);
    const int64_t stride = (int64_t)w.stride, pad = (int64_t)w.pad;
    onnx_attribute_ints(graph, "kernel_shape", (int64_t[]){(int64_t)w.height, (int64_t)w.width}, 2);
    onnx_attribute_ints(graph, "strides", (int64_t[]){stride, stride}, 2);
    onnx_attribute_ints(graph, "pads", (int64_t[]){pad, pad, pad, pad}, 4);
}

static void put_plain(const struct step *s, const char *op)
{
    onnx_node(s->w->graph, op, (const char *[]){s->x, s->x2, NULL}, s->y);
}

/* y = x W^T + bias over the last dimension of x, which may have any other; bias NULL: none. `name`:
 * what its parts are called. */
static void put_linear_rows(const struct step *s, const char *name, const char *x,
                            const char *weight, const char *bias, const char *y)
{
    struct hr_protobuf *graph = s->w->graph;
    const struct onnx_name turned = onnx_name(name, ".turned"),
                           product = onnx_name(name, ".product");
    const size_t node = onnx_node_begin(graph, "Transpose", turned.text,
                                        (const char *[]){weight, NULL}, turned.text);
    onnx_attribute_ints(graph, "perm", (int64_t[]){1, 0}, 2);
    onnx_node_end(graph, node);
    onnx_node(graph, "MatMul", (const char *[]){x, turned.text, NULL}, bias ? product.text : y);
    if (bias)
        onnx_node(graph, "Add", (const char *[]){product.text, bias, NULL}, y);
}

static void put_embedding(const struct step *s)
{
    struct onnx_name names[HR_LAYER_MAX_TENSORS];
    const char *inputs[HR_LAYER_MAX_TENSORS + 2];
    put_tensors(s, names, inputs);
    onnx_node(s->w->graph, "Gather", (const char *[]){inputs[1], s->x, NULL}, s->y);
}

static void put_position(const struct step *s)
{
    struct onnx_name names[HR_LAYER_MAX_TENSORS];
    const char *inputs[HR_LAYER_MAX_TENSORS + 2];
    put_tensors(s, names, inputs);
    onnx_node(s->w->graph, "Add", inputs, s->y);
}

static void put_tied(const struct step *s)
{
    const char *weight = hr_model_tensor(s->w->model, s->layer->table->first_tensor)->name;
    put_linear_rows(s, s->path, s->x, weight, NULL, s->y);
}

static void put_mean(struct hr_protobuf *graph, const char *x, const char *y)
{
    const size_t node = onnx_node_begin(graph, "ReduceMean", y, (const char *[]){x, NULL}, y);
    onnx_attribute_ints(graph, "axes", (int64_t[]){-1}, 1);
    onnx_node_end(graph, node);
}

/* Of its parts: LayerNormalization came with opset 17. */
static void put_layernorm(const struct step *s)
{
    enum { MEAN, CENTRED, SQUARES, VARIANCE, EPS, MORE, ROOT, NORMAL, SCALED, NAMES };
    static const char *const suffix[NAMES] = {".mean", ".centred", ".squares", ".variance", ".eps",
                                              ".more", ".root",    ".normal",  ".scaled"};
    struct hr_protobuf *graph = s->w->graph;
    struct onnx_name names[HR_LAYER_MAX_TENSORS], n[NAMES];
    const char *inputs[HR_LAYER_MAX_TENSORS + 2];
    put_tensors(s, names, inputs); /* weight, bias */
    for (size_t i = 0; i < NAMES; i++)
        n[i] = onnx_name(s->path, suffix[i]);
    onnx_scalar(graph, n[EPS].text, 1e-5f);
    put_mean(graph, s->x, n[MEAN].text);
    onnx_node(graph, "Sub", (const char *[]){s->x, n[MEAN].text, NULL}, n[CENTRED].text);
    onnx_node(graph, "Mul", (const char *[]){n[CENTRED].text, n[CENTRED].text, NULL},
              n[SQUARES].text);
    put_mean(graph, n[SQUARES].text, n[VARIANCE].text);
    onnx_node(graph, "Add", (const char *[]){n[VARIANCE].text, n[EPS].text, NULL}, n[MORE].text);
    onnx_node(graph, "Sqrt", (const char *[]){n[MORE].text, NULL}, n[ROOT].text);
    onnx_node(graph, "Div", (const char *[]){n[CENTRED].text, n[ROOT].text, NULL}, n[NORMAL].text);
    onnx_node(graph, "Mul", (const char *[]){n[NORMAL].text, inputs[1], NULL}, n[SCALED].text);
    onnx_node(graph, "Add", (const char *[]){n[SCALED].text, inputs[2], NULL}, s->y);
}

static void put_turn(struct hr_protobuf *graph, const char *x, const int64_t perm[4], const char *y)
{
    const size_t node = onnx_node_begin(graph, "Transpose", y, (const char *[]){x, NULL}, y);
    onnx_attribute_ints(graph, "perm", perm, 4);
    onnx_node_end(graph, node);
}

/* (1 x T x T) 0 where a place sees another, else so little that its e^x is 0. */
static enum hr_status put_mask(const struct step *s, const char *name)
{
    const size_t T = s->layer->in.size[1], shape[2] = {T, T};
    float *mask = calloc(T * T, sizeof *mask);
    if (!mask)
        return hr_fail(HR_E_NOMEM, "no memory for a mask of %zu places", T);
    for (size_t i = 0; i < T; i++)
        for (size_t j = i + 1; j < T; j++)
            mask[i * T + j] = -1e30f;
    onnx_floats(s->w->graph, name, 2, shape, mask);
    free(mask);
    return HR_OK;
}

/* Heads as a dimension, (B,H,T,d); the first such layer writes the mask. */
static enum hr_status put_attention(const struct step *s)
{
    static const char mask[] = "places_seen";
    static const char *const parts[3] = {".query", ".key", ".value"};
    static const int64_t perms[3][4] = {{0, 2, 1, 3}, {0, 2, 3, 1}, {0, 2, 1, 3}};
    struct hr_protobuf *graph = s->w->graph;
    struct onnx_name names[HR_LAYER_MAX_TENSORS], heads[3];
    const char *inputs[HR_LAYER_MAX_TENSORS + 2];
    const size_t H = s->layer->size[0], D = s->layer->in.size[0];
    const struct onnx_name split = onnx_name(s->path, ".split"),
                           whole = onnx_name(s->path, ".whole"),
                           scale = onnx_name(s->path, ".scale"), dots = onnx_name(s->path, ".dots"),
                           scaled = onnx_name(s->path, ".scaled"),
                           seen = onnx_name(s->path, ".seen"), p = onnx_name(s->path, ".p"),
                           o = onnx_name(s->path, ".o"), turned = onnx_name(s->path, ".o.turned"),
                           joined = onnx_name(s->path, ".o.joined"),
                           output = onnx_name(s->path, ".output");
    put_tensors(s, names, inputs); /* weights of q, k, v, their biases, output's */
    onnx_ints(graph, split.text, 4, (int64_t[]){0, 0, (int64_t)H, (int64_t)(D / H)});
    onnx_ints(graph, whole.text, 3, (int64_t[]){0, 0, (int64_t)D});
    onnx_scalar(graph, scale.text, (float)(1 / sqrt((double)(D / H))));
    if (!s->w->masked)
        HR_TRY(put_mask(s, mask));
    s->w->masked = true;
    for (size_t i = 0; i < 3; i++) {
        const struct onnx_name at = onnx_name(s->path, parts[i]),
                               apart = onnx_name(at.text, ".apart");
        heads[i] = onnx_name(at.text, ".heads");
        put_linear_rows(s, at.text, s->x, inputs[1 + i], inputs[4 + i], at.text);
        onnx_node(graph, "Reshape", (const char *[]){at.text, split.text, NULL}, apart.text);
        put_turn(graph, apart.text, perms[i], heads[i].text);
    }
    onnx_node(graph, "MatMul", (const char *[]){heads[0].text, heads[1].text, NULL}, dots.text);
    onnx_node(graph, "Mul", (const char *[]){dots.text, scale.text, NULL}, scaled.text);
    onnx_node(graph, "Add", (const char *[]){scaled.text, mask, NULL}, seen.text);
    const size_t node =
        onnx_node_begin(graph, "Softmax", p.text, (const char *[]){seen.text, NULL}, p.text);
    onnx_attribute_int(graph, "axis", 3);
    onnx_node_end(graph, node);
    onnx_node(graph, "MatMul", (const char *[]){p.text, heads[2].text, NULL}, o.text);
    put_turn(graph, o.text, perms[0], turned.text);
    onnx_node(graph, "Reshape", (const char *[]){turned.text, whole.text, NULL}, joined.text);
    put_linear_rows(s, output.text, joined.text, inputs[7], inputs[8], s->y);
    return HR_OK;
}

static void put_dense(const struct step *s)
{
    struct onnx_name names[HR_LAYER_MAX_TENSORS];
    const char *inputs[HR_LAYER_MAX_TENSORS + 2];
    put_tensors(s, names, inputs);
    if (s->layer->in.ndim == 2) {
        put_linear_rows(s, s->path, s->x, inputs[1], inputs[2], s->y);
        return;
    }
    const size_t node = onnx_node_begin(s->w->graph, "Gemm", s->path, inputs, s->y);
    onnx_attribute_int(s->w->graph, "transB", 1);
    onnx_node_end(s->w->graph, node);
}

static void put_conv(const struct step *s)
{
    struct hr_protobuf *graph = s->w->graph;
    struct onnx_name names[HR_LAYER_MAX_TENSORS];
    const char *inputs[HR_LAYER_MAX_TENSORS + 2];
    const int64_t dilation = (int64_t)hr_window_of(s->layer).dilation;
    const size_t channels = s->layer->tensors[0].shape[1]; /* of a group */
    put_tensors(s, names, inputs);
    const size_t node = onnx_node_begin(graph, "Conv", s->path, inputs, s->y);
    put_window(s, graph);
    onnx_attribute_ints(graph, "dilations", (int64_t[]){dilation, dilation}, 2);
    onnx_attribute_int(graph, "group", (int64_t)(s->layer->in.size[0] / channels));
    onnx_node_end(graph, node);
}

static void put_batchnorm(const struct step *s)
{
    struct onnx_name names[HR_LAYER_MAX_TENSORS];
    const char *inputs[HR_LAYER_MAX_TENSORS + 2];
    put_tensors(s, names, inputs); /* weight, bias, mean, variance: as the operator wants them */
    const size_t node = onnx_node_begin(s->w->graph, "BatchNormalization", s->path, inputs, s->y);
    onnx_attribute_float(s->w->graph, "epsilon", 1e-5f);
    onnx_node_end(s->w->graph, node);
}

/* InstanceNormalization of the groups, as channels of a row: GroupNormalization by channel came
 * with opset 21. */
static enum hr_status put_groupnorm(const struct step *s)
{
    enum { APART, GROUPED, ONES, ZEROS, NORMAL, SHAPE, WHOLE, SCALED, NAMES };
    static const char *const suffix[NAMES] = {".apart",  ".grouped", ".ones",  ".zeros",
                                              ".normal", ".shape",   ".whole", ".scaled"};
    struct hr_protobuf *graph = s->w->graph;
    const struct hr_layer *layer = s->layer;
    const size_t groups = layer->size[0], C = layer->in.size[0], dims = layer->in.ndim;
    const size_t shape[3] = {C, 1, 1};
    const int64_t apart[] = {0, (int64_t)groups, -1},
                  whole[] = {0, (int64_t)C, (int64_t)layer->in.size[1], (int64_t)layer->in.size[2]};
    struct onnx_name n[NAMES];
    float *constants = calloc(2 * groups, sizeof *constants); /* ones, then zeros */
    if (!constants)
        return hr_fail(HR_E_NOMEM, "no memory for %zu groups", groups);
    for (size_t i = 0; i < NAMES; i++)
        n[i] = onnx_name(s->path, suffix[i]);
    for (size_t g = 0; g < groups; g++)
        constants[g] = 1;
    onnx_ints(graph, n[APART].text, 3, apart);
    onnx_ints(graph, n[SHAPE].text, 1 + dims, whole);
    onnx_floats(graph, n[ONES].text, 1, &groups, constants);
    onnx_floats(graph, n[ZEROS].text, 1, &groups, constants + groups);
    free(constants);
    const struct hr_tensor_info *weight = hr_model_tensor(s->w->model, layer->first_tensor),
                                *bias = hr_model_tensor(s->w->model, layer->first_tensor + 1);
    onnx_floats(graph, weight->name, dims, shape, s->w->params + weight->offset);
    onnx_floats(graph, bias->name, dims, shape, s->w->params + bias->offset);
    onnx_node(graph, "Reshape", (const char *[]){s->x, n[APART].text, NULL}, n[GROUPED].text);
    onnx_node(graph, "InstanceNormalization",
              (const char *[]){n[GROUPED].text, n[ONES].text, n[ZEROS].text, NULL}, n[NORMAL].text);
    onnx_node(graph, "Reshape", (const char *[]){n[NORMAL].text, n[SHAPE].text, NULL},
              n[WHOLE].text);
    onnx_node(graph, "Mul", (const char *[]){n[WHOLE].text, weight->name, NULL}, n[SCALED].text);
    onnx_node(graph, "Add", (const char *[]){n[SCALED].text, bias->name, NULL}, s->y);
    return HR_OK;
}

static void put_pool(const struct step *s, const char *op, bool mean)
{
    const size_t node =
        onnx_node_begin(s->w->graph, op, s->path, (const char *[]){s->x, NULL}, s->y);
    put_window(s, s->w->graph);
    if (mean)
        onnx_attribute_int(s->w->graph, "count_include_pad", 1);
    onnx_node_end(s->w->graph, node);
}

/* 0.5 x (1 + erf(x / sqrt 2)): Gelu itself came with opset 20. */
static void put_gelu(const struct step *s)
{
    struct hr_protobuf *graph = s->w->graph;
    enum { ROOT, ONE, HALF, SCALED, ERF, SUM, HALVED, NAMES };
    static const char *const suffix[NAMES] = {".sqrt2", ".one", ".half",  ".scaled",
                                              ".erf",   ".sum", ".halved"};
    struct onnx_name n[NAMES];
    for (size_t i = 0; i < NAMES; i++)
        n[i] = onnx_name(s->path, suffix[i]);
    onnx_scalar(graph, n[ROOT].text, (float)M_SQRT2);
    onnx_scalar(graph, n[ONE].text, 1);
    onnx_scalar(graph, n[HALF].text, 0.5f);
    onnx_node(graph, "Div", (const char *[]){s->x, n[ROOT].text, NULL}, n[SCALED].text);
    onnx_node(graph, "Erf", (const char *[]){n[SCALED].text, NULL}, n[ERF].text);
    onnx_node(graph, "Add", (const char *[]){n[ERF].text, n[ONE].text, NULL}, n[SUM].text);
    onnx_node(graph, "Mul", (const char *[]){s->x, n[HALF].text, NULL}, n[HALVED].text);
    onnx_node(graph, "Mul", (const char *[]){n[HALVED].text, n[SUM].text, NULL}, s->y);
}

static void put_flatten(const struct step *s)
{
    const size_t node =
        onnx_node_begin(s->w->graph, "Flatten", s->path, (const char *[]){s->x, NULL}, s->y);
    onnx_attribute_int(s->w->graph, "axis", 1);
    onnx_node_end(s->w->graph, node);
}

/* Layers without a node give what they get. */
static bool does_nothing(const struct step *s)
{
    const bool flat = s->layer->in.ndim == 1 || (s->w->flat && s->x == s->w->input);
    return !strcmp(s->layer->type->name, "dropout") ||
           (!strcmp(s->layer->type->name, "flatten") && flat);
}

static enum hr_status put_layer(const struct step *s)
{
    static const struct {
        const char *layer, *op;
    } plain[] = {{"relu", "Relu"},
                 {"sigmoid", "Sigmoid"},
                 {"tanh", "Tanh"},
                 {"residual", "Add"},
                 {"globalavgpool", "GlobalAveragePool"}};
    static const struct {
        const char *layer;
        void (*put)(const struct step *s);
    } own[] = {
        {"dense", put_dense},         {"conv", put_conv},         {"batchnorm", put_batchnorm},
        {"embedding", put_embedding}, {"position", put_position}, {"layernorm", put_layernorm},
        {"tied", put_tied},           {"gelu", put_gelu},         {"flatten", put_flatten}};
    const char *name = s->layer->type->name;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (!strcmp(name, plain[i].layer))
            return put_plain(s, plain[i].op), HR_OK;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (!strcmp(name, own[i].layer))
            return own[i].put(s), HR_OK;
    if (!strcmp(name, "groupnorm"))
        return put_groupnorm(s);
    if (!strcmp(name, "attention"))
        return put_attention(s);
    if (!strcmp(name, "maxpool"))
        return put_pool(s, "MaxPool", false), HR_OK;
    if (!strcmp(name, "avgpool"))
        return put_pool(s, "AveragePool", true), HR_OK;
    return hr_fail(HR_E_USAGE, "layer %s \"%s\" cannot be exported to ONNX", s->path, name);
}

/* --- all layers --- */

/* Who reads the input as an image, where it is a row of features. */
static bool is_image_wanted(const struct writing *w)
{
    struct hr_sources sources;
    for (size_t i = 0; i < hr_model_layer_count(w->model); i++) {
        const struct hr_layer *layer = hr_model_layer_at(w->model, i, &sources);
        for (size_t k = 0; k < sources.count; k++)
            if (sources.from[k] == HR_FROM_INPUT && strcmp(layer->type->name, "flatten") != 0)
                return true;
    }
    return false;
}

static const char *name_of(const struct writing *w, const struct hr_layer *reader, size_t from)
{
    if (from != HR_FROM_INPUT)
        return w->values[from].text;
    return w->flat && strcmp(reader->type->name, "flatten") != 0 ? as_image : w->input;
}

static enum hr_status put_at(struct writing *w, size_t i, const char *output)
{
    struct hr_sources sources;
    const struct hr_layer *layer = hr_model_layer_at(w->model, i, &sources);
    const bool last = i + 1 == hr_model_layer_count(w->model);
    struct step s = {.w = w,
                     .layer = layer,
                     .path = hr_model_layer(w->model, i).path,
                     .x = name_of(w, layer, sources.from[0]),
                     .x2 = sources.count > 1 ? name_of(w, layer, sources.from[1]) : NULL};
    s.y = last ? output : s.path;
    const bool nothing = does_nothing(&s);
    w->values[i] = onnx_name(nothing && !last ? s.x : s.y, "");
    if (nothing && last)
        put_plain(&s, "Identity");
    return nothing ? HR_OK : put_layer(&s);
}

static bool is_text(const struct hr_model *model)
{
    struct hr_sources sources;
    return !strcmp(hr_model_layer_at(model, 0, &sources)->type->name, "embedding");
}

enum hr_status hr_onnx_layers(struct hr_protobuf *graph, const struct hr_model *model,
                              const float *params, struct hr_shape shape, const char *input,
                              const char *output)
{
    struct writing w = {.graph = graph,
                        .model = model,
                        .params = params,
                        .input = input,
                        .flat = shape.height * shape.width == 1 && !is_text(model),
                        .values = calloc(hr_model_layer_count(model), sizeof *w.values)};
    if (!w.values)
        return hr_fail(HR_E_NOMEM, "no memory for a graph of %zu layers",
                       hr_model_layer_count(model));
    if (w.flat && is_image_wanted(&w)) {
        onnx_ints(graph, "image_shape", 4, (int64_t[]){-1, (int64_t)shape.channels, 1, 1});
        onnx_node(graph, "Reshape", (const char *[]){input, "image_shape", NULL}, as_image);
    }
    enum hr_status status = HR_OK;
    for (size_t i = 0; status == HR_OK && i < hr_model_layer_count(model); i++)
        status = put_at(&w, i, output);
    free(w.values);
    return status;
}

enum { IR_VERSION = 7, OPSET = 13 };
/* onnx.proto */
enum { MODEL_IR = 1, MODEL_PRODUCER = 2, MODEL_PRODUCER_VERSION = 3, MODEL_VERSION = 5 };
enum { MODEL_DOC = 6, MODEL_GRAPH = 7, MODEL_OPSET = 8, MODEL_METADATA = 14 };
enum { OPSET_DOMAIN = 1, OPSET_VERSION = 2, ENTRY_KEY = 1, ENTRY_VALUE = 2, GRAPH_NAME = 2 };

enum hr_status hr_onnx_check_model(const char *model)
{
    if (hr_sparse_model_of(model) != HR_SPARSE_MF)
        return HR_OK;
    return hr_fail(HR_E_USAGE, "--export: mf is a table of users and items, and no network; "
                               "expected another model");
}

/* What is exported. */
struct exporting {
    const struct hr_checkpoint *checkpoint;
    const char *text; /* layers, or a sparse model's name */
    const char *loss;
    struct hr_model_input input;
    struct hr_class_list classes;
    struct hr_target_scale values; /* of a regression */
    struct hr_shape shape;
    struct hr_dataset like; /* of a network: its data, without samples */
    struct hr_scaling scaling;
    struct hr_model *model; /* NULL: sparse */
    float *params;
    struct hr_meaning meaning;
    struct hr_protobuf p;
};

/* --- the model, read --- */

static enum hr_status take_shape(struct exporting *e, struct hr_shape shape)
{
    const struct hr_tensor *weight = hr_tensor_get(&e->checkpoint->model, "weight");
    e->shape = e->input.shape.channels ? e->input.shape : shape;
    if (!e->shape.channels && hr_sparse_is_model(e->text) && weight && weight->ndim == 2)
        e->shape = (struct hr_shape){weight->shape[1], 1, 1};
    if (e->shape.channels)
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "--export: %s does not say the shape of its input; --input 1x28x28 (channels, "
                   "height, width) does",
                   e->checkpoint->path);
}

static enum hr_status read_network(struct exporting *e, const char *layers)
{
    hr_model_input_like(e->checkpoint, &e->input, e->classes.count, &e->like);
    e->like.shape = e->shape;
    HR_TRY(hr_saved_model(e->checkpoint, layers, &e->like, &e->values, &e->model));
    const size_t params = hr_model_param_count(e->model);
    if (params > (HR_PROTOBUF_MAX - (1 << 20)) / sizeof *e->params)
        return hr_fail(HR_E_FAILED,
                       "--export: %zu parameters are more than the 2 GiB that an ONNX file may "
                       "have",
                       params);
    e->params = malloc(params * sizeof *e->params);
    if (!e->params)
        return hr_fail(HR_E_NOMEM, "no memory for %zu parameters", params);
    HR_TRY(hr_load_weights(e->checkpoint, e->model, e->params));
    return hr_load_scaling(e->checkpoint, e->shape.channels, &e->scaling);
}

static enum hr_status check_linear(const struct exporting *e)
{
    const struct hr_tensor *weight = hr_tensor_get(&e->checkpoint->model, "weight");
    HR_TRY(hr_onnx_check_model(e->text));
    if (!weight || weight->dtype != HR_F32 || weight->ndim != 2 ||
        weight->shape[1] != hr_shape_elems(e->shape))
        return hr_fail(HR_E_FORMAT, "%s: tensor weight is missing, or not (1, %zu) float32",
                       e->checkpoint->path, hr_shape_elems(e->shape));
    return HR_OK;
}

static enum hr_status read_model(struct exporting *e, const char *layers, struct hr_shape shape)
{
    enum hr_loss_kind loss = HR_LOSS_CROSS_ENTROPY;
    const struct hr_tensor_file *file = &e->checkpoint->model;
    e->text = layers ? layers : hr_metadata_get(file, "hogring.model");
    e->loss = hr_metadata_get(file, "hogring.loss");
    if (!e->text)
        return hr_fail(HR_E_FORMAT,
                       "--export: %s: metadata \"hogring.model\" is missing, so the layers are "
                       "not known",
                       e->checkpoint->path);
    if (e->loss)
        HR_TRY(hr_loss_parse(e->loss, &loss));
    HR_TRY(hr_model_input_get(e->checkpoint, &e->input));
    HR_TRY(hr_class_names_get(e->checkpoint, &e->classes));
    HR_TRY(hr_target_scale_get(e->checkpoint, &e->values));
    HR_TRY(take_shape(e, shape));
    HR_TRY(hr_sparse_is_model(e->text) ? check_linear(e) : read_network(e, layers));
    e->meaning =
        hr_meaning_of(e->text, loss, e->model ? hr_model_outputs(e->model) : 1, e->values.count);
    return HR_OK;
}

/* --- the graph --- */

static bool is_row(const struct exporting *e)
{
    return e->shape.height * e->shape.width == 1;
}

/* mean or deviation, of each channel: (C,1,1), or (F) */
static void put_channels(struct exporting *e, const char *name, const float *values)
{
    const size_t shape[3] = {e->scaling.channels, 1, 1};
    onnx_floats(&e->p, name, is_row(e) ? 1 : 3, shape, values);
}

/* From the data's own units to the first layer; returns the name of what it reads. */
static const char *put_input(struct exporting *e)
{
    const size_t shape[3] = {e->shape.channels, e->shape.height, e->shape.width};
    const char *x = "input";
    if (e->like.tokens.context) {
        onnx_value(&e->p, HR_ONNX_INPUT, x, 1, &e->like.tokens.context, ELEMENT_INT64);
        return x;
    }
    onnx_value(&e->p, HR_ONNX_INPUT, x, is_row(e) ? 1 : 3, shape,
               e->scaling.origin ? ELEMENT_DOUBLE : ELEMENT_FLOAT);
    if (e->scaling.origin) { /* what is subtracted before anything is rounded */
        const size_t channels[3] = {e->scaling.channels, 1, 1};
        onnx_doubles(&e->p, "normalize.origin", is_row(e) ? 1 : 3, channels, e->scaling.origin);
        onnx_node(&e->p, "Sub", (const char *[]){x, "normalize.origin", NULL}, "input_near");
        onnx_cast(&e->p, "input_near", ELEMENT_FLOAT, "input_rounded");
        x = "input_rounded";
        hr_log(HR_LOG_INFO,
               "--export: its input is float64: float32 cannot tell all values of the training "
               "data apart");
    }
    if (e->input.scale > 0 && (e->input.scale > 1 || e->input.scale < 1)) {
        onnx_scalar(&e->p, "input_scale", e->input.scale);
        onnx_node(&e->p, "Mul", (const char *[]){x, "input_scale", NULL}, "input_scaled");
        x = "input_scaled";
    }
    if (e->scaling.channels) {
        put_channels(e, "normalize.mean", e->scaling.mean);
        put_channels(e, "normalize.std", e->scaling.std);
        onnx_node(&e->p, "Sub", (const char *[]){x, "normalize.mean", NULL}, "input_centered");
        onnx_node(&e->p, "Div", (const char *[]){"input_centered", "normalize.std", NULL},
                  "input_normalized");
        x = "input_normalized";
    }
    return x;
}

static void put_linear(struct exporting *e, const char *x, const char *y)
{
    const struct hr_tensor *weight = hr_tensor_get(&e->checkpoint->model, "weight");
    onnx_floats(&e->p, "weight", 2, weight->shape, weight->data);
    const size_t node =
        onnx_node_begin(&e->p, "Gemm", "linear", (const char *[]){x, "weight", NULL}, y);
    onnx_attribute_int(&e->p, "transB", 1);
    onnx_node_end(&e->p, node);
}

/* A single output x is the classes' 1 - p and p: sigmoid(-x) and sigmoid(x). */
static void put_two_classes(struct exporting *e, const char *x, const char *y)
{
    onnx_node(&e->p, "Neg", (const char *[]){x, NULL}, "logits_negated");
    const size_t concat = onnx_node_begin(
        &e->p, "Concat", "both", (const char *[]){"logits_negated", x, NULL}, "logits_of_both");
    onnx_attribute_int(&e->p, "axis", 1);
    onnx_node_end(&e->p, concat);
    onnx_node(&e->p, "Sigmoid", (const char *[]){"logits_of_both", NULL}, y);
}

static void put_probabilities(struct exporting *e, const char *x, const char *y)
{
    if (e->meaning.columns != e->meaning.outputs) {
        put_two_classes(e, x, y);
    } else if (e->meaning.loss == HR_LOSS_BCE) {
        onnx_node(&e->p, "Sigmoid", (const char *[]){x, NULL}, y);
    } else {
        const size_t node = onnx_node_begin(&e->p, "Softmax", y, (const char *[]){x, NULL}, y);
        onnx_attribute_int(&e->p, "axis", e->like.tokens.context ? 2 : 1);
        onnx_node_end(&e->p, node);
    }
}

/* Values in the targets' own units: doubles, as a mean may be large beside the deviation. */
static void put_values(struct exporting *e, const char *x, const char *y)
{
    const size_t count = e->values.count;
    onnx_doubles(&e->p, "target.std", 1, &count, e->values.deviation);
    onnx_doubles(&e->p, "target.mean", 1, &count, e->values.mean);
    onnx_cast(&e->p, x, ELEMENT_DOUBLE, "scores_double");
    onnx_node(&e->p, "Mul", (const char *[]){"scores_double", "target.std", NULL},
              "values_centered");
    onnx_node(&e->p, "Add", (const char *[]){"values_centered", "target.mean", NULL}, y);
    onnx_value(&e->p, HR_ONNX_OUTPUT, y, 1, &count, ELEMENT_DOUBLE);
}

/* So many numbers of a sample; of text so many at its places together. */
static void put_output(struct exporting *e, const char *name, size_t count)
{
    const size_t T = e->like.tokens.context, shape[2] = {T, T ? count / T : 0};
    onnx_value(&e->p, HR_ONNX_OUTPUT, name, T ? 2 : 1, T ? shape : &count, ELEMENT_FLOAT);
}

static enum hr_status put_graph(struct exporting *e)
{
    static const char probabilities[] = "probabilities";
    const bool probable = e->meaning.kind == HR_PREDICT_PROBABILITIES;
    const char *last = probable ? "logits" : "scores";
    hr_protobuf_string(&e->p, GRAPH_NAME, "hogring");
    const char *x = put_input(e);
    if (e->model)
        HR_TRY(hr_onnx_layers(&e->p, e->model, e->params, e->shape, x, last));
    else
        put_linear(e, x, last);
    if (probable) {
        put_probabilities(e, last, probabilities);
        put_output(e, probabilities, e->meaning.columns);
    }
    if (e->values.count)
        put_values(e, last, "values");
    else
        put_output(e, last, e->meaning.outputs);
    return HR_OK;
}

/* --- the file --- */

static void put_entry(struct exporting *e, const char *key, const char *value)
{
    const size_t entry = hr_protobuf_begin(&e->p, MODEL_METADATA);
    hr_protobuf_string(&e->p, ENTRY_KEY, key);
    hr_protobuf_string(&e->p, ENTRY_VALUE, value);
    hr_protobuf_end(&e->p, entry);
}

/* A JSON list, where it has anything. */
static enum hr_status put_list(struct exporting *e, const char *key, json_t *array, bool good)
{
    char *text = good ? hr_json_dump(array, JSON_COMPACT) : NULL;
    if (text && json_array_size(array))
        put_entry(e, key, text);
    const bool done = text;
    free(text);
    json_decref(array);
    return done ? HR_OK : hr_fail(HR_E_NOMEM, "no memory for names");
}

/* counted: a list without names has numbers. */
static enum hr_status put_names(struct exporting *e, const char *key,
                                const struct hr_class_list *list, bool counted)
{
    char number[24];
    json_t *array = json_array();
    bool good = array;
    for (size_t i = 0; good && i < list->count && (counted || list->labels.count); i++) {
        snprintf(number, sizeof number, "%zu", i);
        const bool named = list->labels.count > i;
        json_t *name = hr_json_text(named ? hr_labels_text(&list->labels, i) : number);
        good = name && json_array_append_new(array, name) == 0;
    }
    return put_list(e, key, array, good);
}

static enum hr_status put_targets(struct exporting *e)
{
    json_t *array = json_array();
    bool good = array, named = false;
    for (size_t k = 0; k < e->values.count; k++)
        named = named || e->values.name[k][0];
    for (size_t k = 0; named && good && k < e->values.count; k++)
        good = json_array_append_new(array, hr_json_text(e->values.name[k])) == 0;
    return put_list(e, "target_names", array, good);
}

static enum hr_status put_metadata(struct exporting *e)
{
    char number[32];
    const char *model = e->model ? hr_model_text(e->model) : e->text;
    put_entry(e, "model", model);
    if (e->model)
        put_entry(e, "loss", hr_loss_name(e->meaning.loss));
    snprintf(number, sizeof number, "%.9g", e->input.scale > 0 ? (double)e->input.scale : 1.0);
    put_entry(e, "input_scale", number);
    snprintf(number, sizeof number, "%" PRIu64, e->checkpoint->step);
    put_entry(e, "step", number);
    HR_TRY(put_names(e, "class_names", &e->classes, true));
    HR_TRY(put_targets(e));
    if (e->input.recipe)
        put_entry(e, "columns", e->input.recipe);
    return put_names(e, "feature_names", &e->input.names, false);
}

static enum hr_status put_model(struct exporting *e)
{
    hr_protobuf_varint(&e->p, MODEL_IR, IR_VERSION);
    hr_protobuf_string(&e->p, MODEL_PRODUCER, "hogring");
    hr_protobuf_string(&e->p, MODEL_PRODUCER_VERSION, HR_VERSION);
    hr_protobuf_varint(&e->p, MODEL_VERSION, e->checkpoint->step);
    hr_protobuf_string(&e->p, MODEL_DOC,
                       "Input in the units of the training data; what is done to it before the "
                       "first layer is part of the graph. The first dimension is the batch.");
    const size_t opset = hr_protobuf_begin(&e->p, MODEL_OPSET);
    hr_protobuf_string(&e->p, OPSET_DOMAIN, "");
    hr_protobuf_varint(&e->p, OPSET_VERSION, OPSET);
    hr_protobuf_end(&e->p, opset);
    HR_TRY(put_metadata(e));
    const size_t graph = hr_protobuf_begin(&e->p, MODEL_GRAPH);
    HR_TRY(put_graph(e));
    hr_protobuf_end(&e->p, graph);
    return hr_protobuf_finish(&e->p);
}

static void drop(struct exporting *e)
{
    hr_protobuf_free(&e->p);
    hr_model_destroy(e->model);
    hr_scaling_free(&e->scaling);
    hr_model_input_free(&e->input);
    hr_class_list_free(&e->classes);
    hr_target_scale_free(&e->values);
    free(e->params);
}

enum hr_status hr_onnx_export(const char *path, const struct hr_checkpoint *checkpoint,
                              const char *layers, struct hr_shape shape)
{
    struct exporting e = {.checkpoint = checkpoint};
    enum hr_status status = read_model(&e, layers, shape);
    if (status == HR_OK)
        status = put_model(&e);
    if (status == HR_OK)
        status = hr_file_replace_durably(path, e.p.bytes, e.p.length);
    drop(&e);
    return status;
}
