/* dense O - fully connected, torch.nn.Linear(I, O): over all features, or of a sequence over those
 * of each position.
 *
 *     y (rows,O) = x (rows,I) W^T + bias        W (O,I), bias (O); rows: samples times positions
 *
 * A shard has some rows of W (by columns: of y) or some columns of it (by rows: of W^T, as the
 * field says), and biases of its own.
 */
#include "kernels/elementwise.h"
#include "nn/layer.h"
#include "nn/linear.h"

static enum hr_status parse(struct hr_layer *layer, const struct hr_layer_text *text)
{
    if (text->nwords != 2)
        return hr_fail(HR_E_USAGE, "expected one number, the outputs, as in \"dense 128\"");
    return hr_layer_parse_size(text->words[1], &layer->size[0]);
}

static enum hr_status fit(struct hr_layer *layer)
{
    char text[80];
    if (layer->in.ndim == 3)
        return hr_fail(HR_E_USAGE,
                       "its input has shape %s, expected one dimension: put \"flatten\" before it",
                       hr_dims_text(&layer->in, text, sizeof text));
    const size_t I = layer->in.size[0], O = layer->size[0];
    layer->out = layer->in;
    layer->out.size[0] = O;
    layer->tensors[0] = (struct hr_layer_tensor){.name = "weight", .ndim = 2, .shape = {O, I}};
    layer->tensors[1] = (struct hr_layer_tensor){.name = "bias", .ndim = 1, .shape = {O}};
    layer->ntensors = 2;
    layer->fan_in = I;
    layer->madds = (double)hr_dims_elems(&layer->in) * (double)O;
    return HR_OK;
}

static size_t scratch_bytes(const struct hr_layer *layer, size_t B, size_t threads)
{
    return hr_linear_scratch_bytes(layer->precision, B * hr_dims_rows(&layer->in),
                                   layer->in.size[0], layer->out.size[0], threads);
}

/* The part of the product that a pass is about. */
static struct hr_linear part_of(const struct hr_layer *layer, const struct hr_pass *pass)
{
    struct hr_linear linear = hr_linear_of(layer, pass, pass->B * hr_dims_rows(&layer->in),
                                           layer->in.size[0], layer->out.size[0]);
    if (layer->cut == HR_CUT_ROWS)
        linear.in = pass->in;
    if (layer->cut == HR_CUT_COLUMNS)
        linear.out = pass->out;
    return linear;
}

static void forward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    const struct hr_linear linear = part_of(layer, pass);
    const float *weight = pass->params, *bias = weight + linear.O * linear.I; /* (O,I), (O) */
    const bool sums = layer->cut == HR_CUT_ROWS;
    hr_linear_forward(&linear, pass->x, weight, sums ? NULL : bias, layer->relu_follows && !sums,
                      !sums, pass->y);
}

static void backward_weights(const struct hr_layer *layer, const struct hr_pass *pass,
                             const struct hr_linear *linear)
{
    const size_t I = linear->I, O = linear->O;
    const struct hr_channels biases = layer->cut == HR_CUT_ROWS ? pass->out : linear->out;
    float *dweight = pass->grads, *dbias = dweight + O * I; /* (O,I), (O) */
    hr_linear_backward_weights(linear, pass->dy, pass->x, pass->taker, layer->param_offset,
                               dweight);
    hr_elementwise()->column_sums(linear->rows, biases.end - biases.begin, pass->dy + biases.begin,
                                  O, dbias + biases.begin);
    if (pass->taker)
        pass->taker->take(
            pass->taker->arg,
            &(struct hr_final_piece){
                .begin = layer->param_offset + O * I, .rows = 1, .columns = O, .values = dbias});
}

/* By columns dx is a partial sum. */
static void backward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    const struct hr_linear linear = part_of(layer, pass);
    if (pass->dx)
        hr_linear_backward_data(&linear, pass->dy, pass->params, layer->cut != HR_CUT_COLUMNS,
                                pass->dx);
    if (pass->grads)
        backward_weights(layer, pass, &linear); /* whose taker may change the weights */
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
