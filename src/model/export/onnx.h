/* onnx.h - a checkpoint's model as an ONNX file, for other programs.
 *
 *   input          "input", float32 (batch, C, H, W), or (batch, features) where samples are rows:
 *                  in the data's own units; for bytes 0 to 255
 *                  of text int64 (batch, T) numbers of tokens; a shorter text stands at the
 *                  beginning, whatever is behind it: places see nothing behind them
 *   in the graph   the scale of bytes, mean and deviation of --normalize, all layers as in
 *                  evaluation, and what outputs mean
 *   outputs        "probabilities" (batch, classes) and "logits" (batch, outputs); of mse and svm
 *                  "scores" alone; of text (batch, T, tokens); of a regression "values" (batch,
 *                  targets), float64: mean + deviation * scores, as predict computes it
 *   batch          of any size
 *   version        opset 13, IR 7 (ONNX 1.8, of 2020), which all runtimes of today read
 *   metadata       class_names, target_names, feature_names (JSON lists), model, loss, step,
 *                  input_scale; columns: what was done to a table's columns before they are the
 *                  graph's input, as JSON (formats/columns.h)
 *
 * Weights keep the names of PyTorch's parameters. mf has no such form, and is refused.
 *
 * Errors:  HR_E_USAGE, HR_E_IO, HR_E_FORMAT, HR_E_NOMEM; HR_E_FAILED above 2 GiB, which is ONNX's
 *          limit for a single file. The file is there as a whole or not at all.
 * Threads: none. Test: tests/unit/export/test_onnx.c; beside onnxruntime tests/cli/export.bats
 */
#ifndef HR_EXPORT_ONNX_H
#define HR_EXPORT_ONNX_H

#include "hogring/checkpoint.h"
#include "hogring/data.h"
#include "base/error.h"
#include "encode/protobuf.h"
#include "nn/model.h"

/* Write checkpoint's model to `path`.
 *   layers  of the model where its file does not say them; or NULL
 *   shape   of a sample, where the file does not say it; else zeros */
HR_CHECKED enum hr_status hr_onnx_export(const char *path, const struct hr_checkpoint *checkpoint,
                                         const char *layers, struct hr_shape shape);

/* HR_E_USAGE: a model of that name or those layers has no form in ONNX. */
HR_CHECKED enum hr_status hr_onnx_check_model(const char *model);

/* --- a network's layers as ONNX nodes ---
 *
 * dense          Gemm (transB)              relu, sigmoid, tanh   Relu, Sigmoid, Tanh
 *   conv           Conv                       gelu                  0.5 x (1 + Erf(x / sqrt 2))
 *   maxpool        MaxPool                    flatten               Flatten
 *   avgpool        AveragePool (with pads)    dropout               nothing: it is off
 *   globalavgpool  GlobalAveragePool          residual              Add
 *   batchnorm      BatchNormalization, of running mean and variance
 *   groupnorm      InstanceNormalization between two Reshapes, Mul, Add
 *   layernorm      ReduceMean, Sub, Mul, Add, Sqrt, Div
 *   embedding      Gather                     position              Add
 *   attention      MatMul, Reshape, Transpose, Add of a mask, Softmax
 *   dense of a sequence, tied                 MatMul; tied has no weights of its own
 *
 * Nodes are called by their layer's path ("3.body.0"), and so are their outputs; constants have
 * the names of PyTorch's parameters ("3.body.0.weight").
 *
 * Test: tests/unit/export/test_onnx.c, tests/peers/onnx_export.py */

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
