#include "nn/planes.h"

#include "nn/layer.h"
#include "tiles/lanes.h"

void hr_planes_to_pixels(size_t B, size_t channels, size_t pixels, const float *from, float *to)
{
    const size_t image = channels * pixels;
    for (size_t b = 0; b < B; b++)
        hr_lanes()->turn(channels, pixels, from + b * image, pixels, to + b * image, channels);
}

void hr_pixels_to_planes(size_t B, size_t channels, size_t pixels, const float *from, float *to)
{
    const size_t image = channels * pixels;
    for (size_t b = 0; b < B; b++)
        hr_lanes()->turn(pixels, channels, from + b * image, channels, to + b * image, pixels);
}

/* --- the layer ---
 * flatten - (channels, height, width) becomes (features), in PyTorch's order. The network's input
 * may be in that order already; then nothing moves. */

/* size[0], size[1]: channels and pixels */
static enum hr_status fit(struct hr_layer *layer)
{
    const struct hr_dims *in = &layer->in;
    const size_t channels = in->ndim == 3 && !in->planes ? in->size[0] : 1;
    layer->size[0] = channels;
    layer->size[1] = hr_dims_elems(in) / channels;
    layer->in_place = layer->size[0] == 1 || layer->size[1] == 1;
    layer->out = (struct hr_dims){.ndim = 1, .size = {hr_dims_elems(in)}};
    return HR_OK;
}

static void forward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    if (pass->y != pass->x)
        hr_pixels_to_planes(pass->B, layer->size[0], layer->size[1], pass->x, pass->y);
}

static void backward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    if (pass->dx != pass->dy)
        hr_planes_to_pixels(pass->B, layer->size[0], layer->size[1], pass->dy, pass->dx);
}

const struct hr_layer_type hr_layer_flatten = {
    .name = "flatten",
    .rounds = {true, true},
    .parse = hr_layer_parse_nothing,
    .fit = fit,
    .forward = forward,
    .backward = backward,
};
