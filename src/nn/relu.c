/* relu - y = max(0, x). The gradient's mask is the sign of the stored y, so x is not kept. */
#include "kernels/elementwise.h"
#include "nn/layer.h"

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
        hr_elementwise()->relu(strips.length, pass->x + at, pass->y + at);
}

static void backward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    const struct hr_strips strips = hr_layer_strips(layer, pass);
    for (size_t r = 0, at = strips.first; r < strips.count; r++, at += strips.step)
        hr_elementwise()->relu_backward(strips.length, pass->y + at, pass->dy + at, pass->dx + at);
}

const struct hr_layer_type hr_layer_relu = {
    .name = "relu",
    .reads_y = true,
    .may_cut[HR_CUT_CHANNELS] = true,
    .rounds = {true, true},
    .parse = hr_layer_parse_nothing,
    .fit = fit,
    .forward = forward,
    .backward = backward,
};
