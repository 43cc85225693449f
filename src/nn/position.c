/* position - a learned vector for each place of a sequence: y (T,D) = x + weight, weight (T,D) as
 * torch.nn.Embedding(T, D) has it. T is that of the data.
 *
 * Order: gradients of a place from the first sample on.
 */
#include <string.h>

#include "kernels/elementwise.h"
#include "nn/layer.h"

static enum hr_status fit(struct hr_layer *layer)
{
    char text[80];
    if (layer->in.ndim != 2)
        return hr_fail(HR_E_USAGE,
                       "its input has shape %s, expected a sequence: put \"embedding\" before it",
                       hr_dims_text(&layer->in, text, sizeof text));
    layer->out = layer->in;
    layer->in_place = true;
    layer->tensors[0] = (struct hr_layer_tensor){.name = "weight",
                                                 .ndim = 2,
                                                 .shape = {layer->in.size[1], layer->in.size[0]},
                                                 .init = HR_INIT_NORMAL};
    layer->ntensors = 1;
    layer->fan_in = layer->in.size[0];
    return HR_OK;
}

static void forward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    const size_t elems = hr_dims_elems(&layer->in);
    if (pass->y != pass->x)
        memcpy(pass->y, pass->x, pass->B * elems * sizeof *pass->y);
    hr_elementwise()->bias_add(pass->B, elems, pass->params + pass->before * layer->in.size[0],
                               pass->y);
}

static void backward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    const size_t elems = hr_dims_elems(&layer->in);
    hr_elementwise()->column_sums(pass->B, elems, pass->dy, elems, pass->grads);
    if (pass->dx && pass->dx != pass->dy)
        memcpy(pass->dx, pass->dy, pass->B * elems * sizeof *pass->dx);
}

const struct hr_layer_type hr_layer_position = {
    .name = "position",
    .parse = hr_layer_parse_nothing,
    .fit = fit,
    .forward = forward,
    .backward = backward,
};
