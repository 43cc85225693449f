/* dense O - fully connected, torch.nn.Linear(I, O).
 *
 *     y (B,O) = x (B,I) W^T + bias         W (O,I), bias (O)
 *     dW (O,I) = dy^T x    dbias (O) = column sums of dy    dx (B,I) = dy W
 *
 * A shard has some rows of W (by columns: of y) or some columns of it (by rows: of W^T, as the
 * field says), and biases of its own.
 */
#include "base/size.h"
#include "kernels/elementwise.h"
#include "products/gemm.h"
#include "products/product_bf16.h"
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
    const size_t I = layer->in.size[0], O = layer->out.size[0], widest = hr_max_size(I, O);
    if (layer->precision == HR_PRECISION_BF16)
        return hr_max_size(hr_product_bf16_scratch_bytes(B, widest, threads),
                           hr_product_bf16_scratch_bytes(O, B, threads));
    return hr_gemm_scratch_bytes(hr_max_size(widest, B), threads);
}

/* `round`: what is stored is no partial sum, but a layer's output or its gradient. */
static void multiply(const struct hr_layer *layer, const struct hr_gemm *gemm, bool round)
{
    if (layer->precision == HR_PRECISION_BF16)
        hr_gemm_bf16(gemm, round);
    else
        hr_gemm(gemm);
}

/* The part of the product that a pass is about: inputs and outputs. */
static void ranges_of(const struct hr_layer *layer, const struct hr_pass *pass,
                      struct hr_channels *in, struct hr_channels *out)
{
    *in = layer->cut == HR_CUT_ROWS ? pass->in : (struct hr_channels){0, layer->in.size[0]};
    *out = layer->cut == HR_CUT_COLUMNS ? pass->out : (struct hr_channels){0, layer->out.size[0]};
}

static void forward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    const size_t I = layer->in.size[0], O = layer->out.size[0];
    const float *weight = pass->params, *bias = weight + O * I; /* (O,I), (O) */
    const bool sums = layer->cut == HR_CUT_ROWS;
    struct hr_channels in, out;
    ranges_of(layer, pass, &in, &out);
    multiply(layer,
             &(struct hr_gemm){.form = HR_GEMM_NT,
                               .M = pass->B,
                               .N = out.end - out.begin,
                               .K = in.end - in.begin,
                               .a = pass->x + in.begin,
                               .a_row = I,
                               .b = weight + out.begin * I + in.begin,
                               .b_row = I,
                               .c = pass->y + out.begin,
                               .c_row = O,
                               .bias = sums ? NULL : bias + out.begin,
                               .relu = layer->relu_follows && !sums,
                               .scratch = pass->scratch,
                               .threads = pass->threads},
             !sums);
}

static void backward_weights(const struct hr_layer *layer, const struct hr_pass *pass,
                             struct hr_channels in, struct hr_channels out)
{
    const size_t I = layer->in.size[0], O = layer->out.size[0];
    const struct hr_channels biases = layer->cut == HR_CUT_ROWS ? pass->out : out;
    float *dweight = pass->grads, *dbias = dweight + O * I; /* (O,I), (O) */
    multiply(layer,
             &(struct hr_gemm){.form = HR_GEMM_TN,
                               .M = out.end - out.begin,
                               .N = in.end - in.begin,
                               .K = pass->B,
                               .a = pass->dy + out.begin,
                               .a_row = O,
                               .b = pass->x + in.begin,
                               .b_row = I,
                               .c = dweight + out.begin * I + in.begin,
                               .c_row = I,
                               .taker = pass->taker,
                               .taken_at = layer->param_offset + out.begin * I + in.begin,
                               .scratch = pass->scratch,
                               .threads = pass->threads},
             false);
    hr_elementwise()->column_sums(pass->B, biases.end - biases.begin, pass->dy + biases.begin, O,
                                  dbias + biases.begin);
    if (pass->taker)
        pass->taker->take(
            pass->taker->arg,
            &(struct hr_final_piece){
                .begin = layer->param_offset + O * I, .rows = 1, .columns = O, .values = dbias});
}

/* By columns dx is a partial sum. */
static void backward_data(const struct hr_layer *layer, const struct hr_pass *pass,
                          struct hr_channels in, struct hr_channels out)
{
    const size_t I = layer->in.size[0], O = layer->out.size[0];
    multiply(layer,
             &(struct hr_gemm){.form = HR_GEMM_NN,
                               .M = pass->B,
                               .N = in.end - in.begin,
                               .K = out.end - out.begin,
                               .a = pass->dy + out.begin,
                               .a_row = O,
                               .b = pass->params + out.begin * I + in.begin,
                               .b_row = I,
                               .c = pass->dx + in.begin,
                               .c_row = I,
                               .scratch = pass->scratch,
                               .threads = pass->threads},
             layer->cut != HR_CUT_COLUMNS);
}

static void backward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    struct hr_channels in, out;
    ranges_of(layer, pass, &in, &out);
    if (pass->dx)
        backward_data(layer, pass, in, out);
    if (pass->grads)
        backward_weights(layer, pass, in, out); /* whose taker may change the weights */
}

const struct hr_layer_type hr_layer_dense = {
    .name = "dense",
    .can_fuse_relu = true,
    .hands_over = true,
    .has_halves = true,
    .may_cut = {[HR_CUT_COLUMNS] = true, [HR_CUT_ROWS] = true},
    .rounds = {true, true},
    .parse = parse,
    .fit = fit,
    .scratch_bytes = scratch_bytes,
    .forward = forward,
    .backward = backward,
};
