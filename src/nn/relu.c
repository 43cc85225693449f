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
    hr_elementwise()->relu(pass->B * hr_dims_elems(&layer->in), pass->x, pass->y);
}

static void backward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    hr_elementwise()->relu_backward(pass->B * hr_dims_elems(&layer->in), pass->y, pass->dy,
                                    pass->dx);
}

const struct hr_layer_type hr_layer_relu = {
    .name = "relu",
    .reads_y = true,
    .parse = hr_layer_parse_nothing,
    .fit = fit,
    .forward = forward,
    .backward = backward,
};
