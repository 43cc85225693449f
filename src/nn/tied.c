/* tied - the output of a language model, whose weights are the embedding's: y (T,V) = x E^T, as
 * Press and Wolf, "Using the output embedding to improve language models", arXiv 1608.05859, and
 * GPT-2 have it. It has no tensor of its own, and no bias.
 *
 * What it adds to the gradient of E is written first; the embedding, whose backward is the last,
 * adds its own (embedding.c).
 */
#include "nn/layer.h"
#include "nn/linear.h"

static enum hr_status fit(struct hr_layer *layer)
{
    char text[80];
    const struct hr_layer *table = layer->table;
    if (!table)
        return hr_fail(HR_E_USAGE, "has the weights of an embedding, and there is none before it");
    if (table->is_tied)
        return hr_fail(HR_E_USAGE, "another layer is tied to the embedding: expected one");
    if (layer->in.ndim != 2 || layer->in.size[0] != table->out.size[0])
        return hr_fail(HR_E_USAGE, "its input has shape %s, expected the embedding's width, %zu",
                       hr_dims_text(&layer->in, text, sizeof text), table->out.size[0]);
    layer->out = layer->in;
    layer->out.size[0] = layer->tokens;
    layer->madds = (double)hr_dims_elems(&layer->in) * (double)layer->tokens;
    return HR_OK;
}

static struct hr_linear linear_of(const struct hr_layer *layer, const struct hr_pass *pass)
{
    return hr_linear_of(layer, pass, pass->B * layer->in.size[1], layer->in.size[0],
                        layer->out.size[0]);
}

static size_t scratch_bytes(const struct hr_layer *layer, size_t B, size_t threads)
{
    return hr_linear_scratch_bytes(layer->precision, B * layer->in.size[1], layer->in.size[0],
                                   layer->out.size[0], threads);
}

static void forward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    const struct hr_linear linear = linear_of(layer, pass);
    hr_linear_forward(&linear, pass->x, pass->params, NULL, false, true, pass->y);
}

static void backward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    const struct hr_linear linear = linear_of(layer, pass);
    if (pass->dx)
        hr_linear_backward_data(&linear, pass->dy, pass->params, true, pass->dx);
    hr_linear_backward_weights(&linear, pass->dy, pass->x, NULL, 0, pass->grads);
}

const struct hr_layer_type hr_layer_tied = {
    .name = "tied",
    .rounds = {true, true},
    .parse = hr_layer_parse_nothing,
    .fit = fit,
    .scratch_bytes = scratch_bytes,
    .forward = forward,
    .backward = backward,
};
