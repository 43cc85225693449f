#include "export/onnx_layers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export/onnx_graph.h"
#include "nn/layer.h"
#include "nn/window.h"

static const char as_image[] = "input_as_image";

struct writing {
    struct hr_protobuf *graph;
    const struct hr_model *model;
    const float *params;
    const char *input;           /* as flattens read it */
    bool flat;                   /* it has two dimensions, and all other layers want four */
    struct hr_onnx_name *values; /* (layers) the name of each one's output */
};

/* The layer in hand. */
struct step {
    struct writing *w;
    const struct hr_layer *layer;
    const char *path, *x, *x2; /* names: its own, its inputs' */
    const char *y;
};

/* Write the layer's tensors as constants; names[] = x, then theirs, then NULL. */
static void put_tensors(const struct step *s, struct hr_onnx_name *names,
                        const char *inputs[HR_LAYER_MAX_TENSORS + 2])
{
    inputs[0] = s->x;
    for (size_t t = 0; t < s->layer->ntensors; t++) {
        const struct hr_tensor_info *info =
            hr_model_tensor(s->w->model, s->layer->first_tensor + t);
        names[t] = hr_onnx_name(info->name, "");
        inputs[t + 1] = names[t].text;
        hr_onnx_floats(s->w->graph, info->name, info->ndim, info->shape,
                       s->w->params + info->offset);
    }
    inputs[s->layer->ntensors + 1] = NULL;
}

static void put_window(const struct step *s, struct hr_protobuf *graph)
{
    const struct hr_window w = hr_window_of(s->layer);
    const int64_t stride = (int64_t)w.stride, pad = (int64_t)w.pad;
    hr_onnx_attribute_ints(graph, "kernel_shape", (int64_t[]){(int64_t)w.height, (int64_t)w.width},
                           2);
    hr_onnx_attribute_ints(graph, "strides", (int64_t[]){stride, stride}, 2);
    hr_onnx_attribute_ints(graph, "pads", (int64_t[]){pad, pad, pad, pad}, 4);
}

static void put_plain(const struct step *s, const char *op)
{
    hr_onnx_node(s->w->graph, op, (const char *[]){s->x, s->x2, NULL}, s->y);
}

static void put_dense(const struct step *s)
{
    struct hr_onnx_name names[HR_LAYER_MAX_TENSORS];
    const char *inputs[HR_LAYER_MAX_TENSORS + 2];
    put_tensors(s, names, inputs);
    const size_t node = hr_onnx_node_begin(s->w->graph, "Gemm", s->path, inputs, s->y);
    hr_onnx_attribute_int(s->w->graph, "transB", 1);
    hr_onnx_node_end(s->w->graph, node);
}

static void put_conv(const struct step *s)
{
    struct hr_protobuf *graph = s->w->graph;
    struct hr_onnx_name names[HR_LAYER_MAX_TENSORS];
    const char *inputs[HR_LAYER_MAX_TENSORS + 2];
    const int64_t dilation = (int64_t)hr_window_of(s->layer).dilation;
    const size_t channels = s->layer->tensors[0].shape[1]; /* of a group */
    put_tensors(s, names, inputs);
    const size_t node = hr_onnx_node_begin(graph, "Conv", s->path, inputs, s->y);
    put_window(s, graph);
    hr_onnx_attribute_ints(graph, "dilations", (int64_t[]){dilation, dilation}, 2);
    hr_onnx_attribute_int(graph, "group", (int64_t)(s->layer->in.size[0] / channels));
    hr_onnx_node_end(graph, node);
}

static void put_batchnorm(const struct step *s)
{
    struct hr_onnx_name names[HR_LAYER_MAX_TENSORS];
    const char *inputs[HR_LAYER_MAX_TENSORS + 2];
    put_tensors(s, names, inputs); /* weight, bias, mean, variance: as the operator wants them */
    const size_t node =
        hr_onnx_node_begin(s->w->graph, "BatchNormalization", s->path, inputs, s->y);
    hr_onnx_attribute_float(s->w->graph, "epsilon", 1e-5f);
    hr_onnx_node_end(s->w->graph, node);
}

static void put_pool(const struct step *s, const char *op, bool mean)
{
    const size_t node =
        hr_onnx_node_begin(s->w->graph, op, s->path, (const char *[]){s->x, NULL}, s->y);
    put_window(s, s->w->graph);
    if (mean)
        hr_onnx_attribute_int(s->w->graph, "count_include_pad", 1);
    hr_onnx_node_end(s->w->graph, node);
}

/* 0.5 x (1 + erf(x / sqrt 2)): Gelu itself came with opset 20. */
static void put_gelu(const struct step *s)
{
    struct hr_protobuf *graph = s->w->graph;
    enum { ROOT, ONE, HALF, SCALED, ERF, SUM, HALVED, NAMES };
    static const char *const suffix[NAMES] = {".sqrt2", ".one", ".half",  ".scaled",
                                              ".erf",   ".sum", ".halved"};
    struct hr_onnx_name n[NAMES];
    for (size_t i = 0; i < NAMES; i++)
        n[i] = hr_onnx_name(s->path, suffix[i]);
    hr_onnx_scalar(graph, n[ROOT].text, (float)M_SQRT2);
    hr_onnx_scalar(graph, n[ONE].text, 1);
    hr_onnx_scalar(graph, n[HALF].text, 0.5f);
    hr_onnx_node(graph, "Div", (const char *[]){s->x, n[ROOT].text, NULL}, n[SCALED].text);
    hr_onnx_node(graph, "Erf", (const char *[]){n[SCALED].text, NULL}, n[ERF].text);
    hr_onnx_node(graph, "Add", (const char *[]){n[ERF].text, n[ONE].text, NULL}, n[SUM].text);
    hr_onnx_node(graph, "Mul", (const char *[]){s->x, n[HALF].text, NULL}, n[HALVED].text);
    hr_onnx_node(graph, "Mul", (const char *[]){n[HALVED].text, n[SUM].text, NULL}, s->y);
}

static void put_flatten(const struct step *s)
{
    const size_t node =
        hr_onnx_node_begin(s->w->graph, "Flatten", s->path, (const char *[]){s->x, NULL}, s->y);
    hr_onnx_attribute_int(s->w->graph, "axis", 1);
    hr_onnx_node_end(s->w->graph, node);
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
    } own[] = {{"dense", put_dense},
               {"conv", put_conv},
               {"batchnorm", put_batchnorm},
               {"gelu", put_gelu},
               {"flatten", put_flatten}};
    const char *name = s->layer->type->name;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (!strcmp(name, plain[i].layer))
            return put_plain(s, plain[i].op), HR_OK;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (!strcmp(name, own[i].layer))
            return own[i].put(s), HR_OK;
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
    w->values[i] = hr_onnx_name(nothing && !last ? s.x : s.y, "");
    if (nothing && last)
        put_plain(&s, "Identity");
    return nothing ? HR_OK : put_layer(&s);
}

enum hr_status hr_onnx_layers(struct hr_protobuf *graph, const struct hr_model *model,
                              const float *params, struct hr_shape shape, const char *input,
                              const char *output)
{
    struct writing w = {.graph = graph,
                        .model = model,
                        .params = params,
                        .input = input,
                        .flat = shape.height * shape.width == 1,
                        .values = calloc(hr_model_layer_count(model), sizeof *w.values)};
    if (!w.values)
        return hr_fail(HR_E_NOMEM, "no memory for a graph of %zu layers",
                       hr_model_layer_count(model));
    if (w.flat && is_image_wanted(&w)) {
        hr_onnx_ints(graph, "image_shape", 4, (int64_t[]){-1, (int64_t)shape.channels, 1, 1});
        hr_onnx_node(graph, "Reshape", (const char *[]){input, "image_shape", NULL}, as_image);
    }
    enum hr_status status = HR_OK;
    for (size_t i = 0; status == HR_OK && i < hr_model_layer_count(model); i++)
        status = put_at(&w, i, output);
    free(w.values);
    return status;
}
