/* dense O - fully connected, torch.nn.Linear(I, O).
 *
 *     y (B,O) = x (B,I) W^T + bias         W (O,I), bias (O)
 *     dW (O,I) = dy^T x    dbias (O) = column sums of dy    dx (B,I) = dy W
 */
#include "kernels/gemm.h"
#include "kernels/elementwise.h"
#include "nn/layer.h"

static enum hr_status parse(struct hr_layer *layer, const struct hr_layer_text *text)
{
    if (text->nwords != 2)
        return hr_fail(HR_E_USAGE, "expected one number, the outputs, as in \"dense 128\"");
    return hr_layer_parse_size(text->words[1], &layer->size[0]);
}

static enum hr_status fit(struct hr_layer *layer)
{
    char text[80];
    if (layer->in.ndim != 1)
        return hr_fail(HR_E_USAGE,
                       "its input has shape %s, expected one dimension: put \"flatten\" before it",
                       hr_dims_text(&layer->in, text, sizeof text));
    const size_t I = layer->in.size[0], O = layer->size[0];
    layer->out = (struct hr_dims){.ndim = 1, .size = {O}};
    layer->tensors[0] = (struct hr_layer_tensor){.name = "weight", .ndim = 2, .shape = {O, I}};
    layer->tensors[1] = (struct hr_layer_tensor){.name = "bias", .ndim = 1, .shape = {O}};
    layer->ntensors = 2;
    layer->fan_in = I;
    layer->madds = (double)I * (double)O;
    return HR_OK;
}

/* Sums over inputs forward, over samples for dW, over outputs for dx. */
static size_t scratch_bytes(const struct hr_layer *layer, size_t B, size_t threads)
{
    const size_t I = layer->in.size[0], O = layer->out.size[0], widest = I > O ? I : O;
    return hr_gemm_scratch_bytes(widest > B ? widest : B, threads);
}

static void forward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    const size_t B = pass->B, I = layer->in.size[0], O = layer->out.size[0];
    const float *weight = pass->params, *bias = weight + O * I; /* (O,I), (O) */
    hr_gemm(&(struct hr_gemm){.form = HR_GEMM_NT,
                              .M = B,
                              .N = O,
                              .K = I,
                              .a = pass->x,
                              .b = weight,
                              .c = pass->y,
                              .bias = bias,
                              .relu = layer->relu_follows,
                              .scratch = pass->scratch,
                              .threads = pass->threads});
}

static void backward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    const size_t B = pass->B, I = layer->in.size[0], O = layer->out.size[0];
    float *dweight = pass->grads, *dbias = dweight + O * I; /* (O,I), (O) */
    struct hr_gemm gemm = {.form = HR_GEMM_TN,
                           .M = O,
                           .N = I,
                           .K = B,
                           .a = pass->dy,
                           .b = pass->x,
                           .c = dweight,
                           .scratch = pass->scratch,
                           .threads = pass->threads};
    hr_gemm(&gemm);
    hr_elementwise()->column_sums(B, O, pass->dy, dbias);
    if (!pass->dx)
        return;
    gemm.form = HR_GEMM_NN;
    gemm.M = B;
    gemm.K = O;
    gemm.b = pass->params;
    gemm.c = pass->dx;
    hr_gemm(&gemm);
}

const struct hr_layer_type hr_layer_dense = {
    .name = "dense",
    .can_fuse_relu = true,
    .parse = parse,
    .fit = fit,
    .scratch_bytes = scratch_bytes,
    .forward = forward,
    .backward = backward,
};
