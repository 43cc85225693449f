/* dense O - fully connected, torch.nn.Linear(I, O).
 *
 *     y (B,O) = x (B,I) W^T + bias         W (O,I), bias (O)
 *     dW (O,I) = dy^T x    dbias (O) = column sums of dy    dx (B,I) = dy W
 */
#include "nn/gemm.h"
#include "nn/kernels.h"
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

static void forward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    const size_t B = pass->B, I = layer->in.size[0], O = layer->out.size[0];
    const float *weight = pass->params, *bias = weight + O * I; /* (O,I), (O) */
    hr_gemm_nt(B, O, I, pass->x, weight, pass->y);
    if (layer->relu_follows)
        hr_bias_relu(B, O, bias, pass->y);
    else
        hr_bias_add(B, O, bias, pass->y);
}

static void backward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    const size_t B = pass->B, I = layer->in.size[0], O = layer->out.size[0];
    float *dweight = pass->grads, *dbias = dweight + O * I; /* (O,I), (O) */
    hr_gemm_tn(O, I, B, pass->dy, pass->x, dweight);
    hr_column_sums(B, O, pass->dy, dbias);
    if (pass->dx)
        hr_gemm_nn(B, I, O, pass->dy, pass->params, pass->dx);
}

const struct hr_layer_type hr_layer_dense = {
    .name = "dense",
    .can_fuse_relu = true,
    .parse = parse,
    .fit = fit,
    .forward = forward,
    .backward = backward,
};
