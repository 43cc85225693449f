/* onnx_layers.h - a network's layers as ONNX nodes.
 *
 *   dense          Gemm (transB)              relu, sigmoid, tanh   Relu, Sigmoid, Tanh
 *   conv           Conv                       gelu                  0.5 x (1 + Erf(x / sqrt 2))
 *   maxpool        MaxPool                    flatten               Flatten
 *   avgpool        AveragePool (with pads)    dropout               nothing: it is off
 *   globalavgpool  GlobalAveragePool          residual              Add
 *   batchnorm      BatchNormalization, of running mean and variance
 *
 * Nodes are called by their layer's path ("3.body.0"), and so are their outputs; constants have
 * the names of PyTorch's parameters ("3.body.0.weight").
 *
 * Threads: none. Test: tests/unit/export/test_onnx.c, tests/peers/onnx_export.py
 */
#ifndef HR_EXPORT_ONNX_LAYERS_H
#define HR_EXPORT_ONNX_LAYERS_H

#include "base/error.h"
#include "encode/protobuf.h"
#include "nn/model.h"

/* Append all layers.
 *   params  (param_count)
 *   input   name of the value that the first layers read, (batch, C, H, W), or (batch, C) where
 *           H = W = 1
 *   output  name that the last layer's output gets
 * HR_E_USAGE: a layer that has no form in ONNX here; HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_onnx_layers(struct hr_protobuf *graph, const struct hr_model *model,
                                         const float *params, struct hr_shape shape,
                                         const char *input, const char *output);

#endif
