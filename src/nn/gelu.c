/* gelu - y = x P(X <= x), X normal: torch.nn.GELU(), the exact form. Its derivative wants x. */
#include "nn/layer.h"
#include "kernels/smooth.h"

static enum hr_status fit(struct hr_layer *layer)
{
    layer->out = layer->in;
    return HR_OK;
}

static void forward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    hr_smooth()->gelu(pass->B * hr_dims_elems(&layer->in), pass->x, pass->y);
}

static void backward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    if (pass->dx)
        hr_smooth()->gelu_backward(pass->B * hr_dims_elems(&layer->in), pass->x, pass->dy,
                                   pass->dx);
}

const struct hr_layer_type hr_layer_gelu = {
    .name = "gelu",
    .parse = hr_layer_parse_nothing,
    .fit = fit,
    .forward = forward,
    .backward = backward,
};
