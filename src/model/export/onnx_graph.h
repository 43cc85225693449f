/* onnx_graph.h - the parts of an ONNX GraphProto, written behind one another into one message.
 *
 * Field numbers are those of onnx.proto (IR version 7); the order of fields is free, so nodes and
 * their weights stand side by side.
 *
 * Errors:  none here; hr_protobuf_finish says whether all of it was written.
 * Threads: none. Test: tests/unit/export/test_onnx.c
 */
#ifndef HR_EXPORT_ONNX_GRAPH_H
#define HR_EXPORT_ONNX_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "encode/protobuf.h"

enum { HR_ONNX_NAME = 128 };

struct hr_onnx_name {
    char text[HR_ONNX_NAME];
};
/* "3.body.0" and ".weight" -> "3.body.0.weight" */
struct hr_onnx_name hr_onnx_name(const char *path, const char *suffix);

/* A node: begin, attributes, end. inputs: up to five, ended by NULL. */
size_t hr_onnx_node_begin(struct hr_protobuf *graph, const char *op, const char *name,
                          const char *const *inputs, const char *output);
void hr_onnx_node_end(struct hr_protobuf *graph, size_t begun);
void hr_onnx_attribute_int(struct hr_protobuf *graph, const char *name, int64_t value);
void hr_onnx_attribute_ints(struct hr_protobuf *graph, const char *name, const int64_t *values,
                            size_t count);
void hr_onnx_attribute_float(struct hr_protobuf *graph, const char *name, float value);
/* The same without attributes; the node is called as its output is. */
void hr_onnx_node(struct hr_protobuf *graph, const char *op, const char *const *inputs,
                  const char *output);

/* Constants: float32, float64 and int64. */
void hr_onnx_floats(struct hr_protobuf *graph, const char *name, size_t ndim, const size_t *shape,
                    const float *values);
void hr_onnx_doubles(struct hr_protobuf *graph, const char *name, size_t ndim, const size_t *shape,
                     const double *values);
/* y = x as float32 */
void hr_onnx_cast(struct hr_protobuf *graph, const char *x, const char *y);
void hr_onnx_scalar(struct hr_protobuf *graph, const char *name, float value);
void hr_onnx_ints(struct hr_protobuf *graph, const char *name, size_t count, const int64_t *values);

/* GraphProto.input and .output: float32, or `wide` float64, (batch, shape...) of any batch. */
enum hr_onnx_end { HR_ONNX_INPUT = 11, HR_ONNX_OUTPUT = 12 };
void hr_onnx_value(struct hr_protobuf *graph, enum hr_onnx_end end, const char *name, size_t ndim,
                   const size_t *shape, bool wide);

#endif
