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
    hr_smooth()->tanh(pass->B * hr_dims_elems(&layer->in), pass->x, pass->y);
}

static void backward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    if (pass->dx)
        hr_smooth()->tanh_backward(pass->B * hr_dims_elems(&layer->in), pass->y, pass->dy,
                                   pass->dx);
}

const struct hr_layer_type hr_layer_tanh = {
    .name = "tanh",
    .reads_y = true,
    .parse = hr_layer_parse_nothing,
    .fit = fit,
    .forward = forward,
    .backward = backward,
};
