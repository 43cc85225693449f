/* flatten - (channels, height, width) becomes (features); the memory stays as it is. */
#include "nn/layer.h"

static enum hr_status fit(struct hr_layer *layer)
{
    layer->out = (struct hr_dims){.ndim = 1, .size = {hr_dims_elems(&layer->in)}};
    return HR_OK;
}

const struct hr_layer_type hr_layer_flatten = {
    .name = "flatten",
    .in_place = true,
    .parse = hr_layer_parse_nothing,
    .fit = fit,
    .forward = hr_layer_pass_nothing,
    .backward = hr_layer_pass_nothing,
};
