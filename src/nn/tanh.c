/* tanh - y = tanh x. Its derivative is 1 - y^2, so x is not kept. */
#include "nn/layer.h"
#include "kernels/smooth.h"

static enum hr_status fit(struct hr_layer *layer)
{
    layer->out = layer->in;
    layer->in_place = true;
    return HR_OK;
}

static void forward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    const struct hr_strips strips = hr_layer_strips(layer, pass);
    for (size_t r = 0, at = strips.first; r < strips.count; r++, at += strips.step)
        hr_smooth()->tanh(strips.length, pass->x + at, pass->y + at);
}

static void backward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    const struct hr_strips strips = hr_layer_strips(layer, pass);
    for (size_t r = 0, at = strips.first; pass->dx && r < strips.count; r++, at += strips.step)
        hr_smooth()->tanh_backward(strips.length, pass->y + at, pass->dy + at, pass->dx + at);
}

const struct hr_layer_type hr_layer_tanh = {
    .name = "tanh",
    .reads_y = true,
    .may_cut[HR_CUT_CHANNELS] = true,
    .parse = hr_layer_parse_nothing,
    .fit = fit,
    .forward = forward,
    .backward = backward,
};
