#include "export/onnx_graph.h"

#include <stdio.h>
#include <string.h>

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

struct hr_onnx_name hr_onnx_name(const char *path, const char *suffix)
{
    struct hr_onnx_name name;
    snprintf(name.text, sizeof name.text, "%s%s", path, suffix);
    return name;
}

size_t hr_onnx_node_begin(struct hr_protobuf *graph, const char *op, const char *name,
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

void hr_onnx_node_end(struct hr_protobuf *graph, size_t begun)
{
    hr_protobuf_end(graph, begun);
}

void hr_onnx_node(struct hr_protobuf *graph, const char *op, const char *const *inputs,
                  const char *output)
{
    hr_onnx_node_end(graph, hr_onnx_node_begin(graph, op, output, inputs, output));
}

static size_t begin_attribute(struct hr_protobuf *graph, const char *name, uint64_t type)
{
    const size_t begun = hr_protobuf_begin(graph, NODE_ATTRIBUTE);
    hr_protobuf_string(graph, ATTRIBUTE_NAME, name);
    hr_protobuf_varint(graph, ATTRIBUTE_TYPE, type);
    return begun;
}

void hr_onnx_attribute_int(struct hr_protobuf *graph, const char *name, int64_t value)
{
    const size_t begun = begin_attribute(graph, name, TYPE_INT);
    hr_protobuf_varint(graph, ATTRIBUTE_I, (uint64_t)value);
    hr_protobuf_end(graph, begun);
}

void hr_onnx_attribute_ints(struct hr_protobuf *graph, const char *name, const int64_t *values,
                            size_t count)
{
    const size_t begun = begin_attribute(graph, name, TYPE_INTS);
    hr_protobuf_packed(graph, ATTRIBUTE_INTS, values, count);
    hr_protobuf_end(graph, begun);
}

void hr_onnx_attribute_float(struct hr_protobuf *graph, const char *name, float value)
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

void hr_onnx_floats(struct hr_protobuf *graph, const char *name, size_t ndim, const size_t *shape,
                    const float *values)
{
    put_numbers(graph, name, ndim, shape, ELEMENT_FLOAT, values, sizeof *values);
}

void hr_onnx_doubles(struct hr_protobuf *graph, const char *name, size_t ndim, const size_t *shape,
                     const double *values)
{
    put_numbers(graph, name, ndim, shape, ELEMENT_DOUBLE, values, sizeof *values);
}

void hr_onnx_cast(struct hr_protobuf *graph, const char *x, const char *y)
{
    const size_t node = hr_onnx_node_begin(graph, "Cast", y, (const char *[]){x, NULL}, y);
    hr_onnx_attribute_int(graph, "to", ELEMENT_FLOAT);
    hr_onnx_node_end(graph, node);
}

void hr_onnx_scalar(struct hr_protobuf *graph, const char *name, float value)
{
    hr_onnx_floats(graph, name, 0, NULL, &value);
}

void hr_onnx_ints(struct hr_protobuf *graph, const char *name, size_t count, const int64_t *values)
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

void hr_onnx_value(struct hr_protobuf *graph, enum hr_onnx_end end, const char *name, size_t ndim,
                   const size_t *shape, bool wide)
{
    const size_t value = hr_protobuf_begin(graph, end);
    hr_protobuf_string(graph, VALUE_NAME, name);
    const size_t type = hr_protobuf_begin(graph, VALUE_TYPE);
    const size_t tensor = hr_protobuf_begin(graph, TYPE_TENSOR);
    hr_protobuf_varint(graph, TENSOR_ELEMENT, wide ? ELEMENT_DOUBLE : ELEMENT_FLOAT);
    const size_t dims = hr_protobuf_begin(graph, TENSOR_SHAPE);
    put_dim(graph, 0);
    for (size_t d = 0; d < ndim; d++)
        put_dim(graph, shape[d]);
    hr_protobuf_end(graph, dims);
    hr_protobuf_end(graph, tensor);
    hr_protobuf_end(graph, type);
    hr_protobuf_end(graph, value);
}
