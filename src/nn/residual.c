/* residual ( ... ) shortcut ( ... ) - the end of such a block: y = body(x) + shortcut(x), and
 * body(x) + x without a shortcut. The layers inside stand before it in the model's list; this one
 * reads two outputs, of which the body's is overwritten. A relu behind it is done in the same
 * passes. */
#include <string.h>

#include "kernels/elementwise.h"
#include "nn/layer.h"

static enum hr_status fit(struct hr_layer *layer)
{
    char body[80], shortcut[80];
    const struct hr_dims *a = &layer->in, *b = &layer->in2;
    if (a->ndim != b->ndim || memcmp(a->size, b->size, a->ndim * sizeof *a->size) != 0)
        return hr_fail(
            HR_E_USAGE, "its body gives shape %s, its shortcut %s: expected the same shape",
            hr_dims_text(a, body, sizeof body), hr_dims_text(b, shortcut, sizeof shortcut));
    layer->out = layer->in;
    layer->in_place = true;
    return HR_OK;
}

static void forward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    const struct hr_strips strips = hr_layer_strips(layer, pass);
    for (size_t r = 0, at = strips.first; r < strips.count; r++, at += strips.step)
        hr_elementwise()->sum(strips.length, pass->x + at, pass->x2 + at, layer->relu_follows,
                              pass->y + at);
}

static void backward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    const struct hr_strips strips = hr_layer_strips(layer, pass);
    for (size_t r = 0, at = strips.first; r < strips.count; r++, at += strips.step)
        hr_elementwise()->sum_backward(strips.length, layer->absorbs ? pass->y + at : NULL,
                                       pass->dy + at, pass->dx ? pass->dx + at : NULL,
                                       pass->dx2 ? pass->dx2 + at : NULL);
}

const struct hr_layer_type hr_layer_residual = {
    .name = "residual",
    .can_fuse_relu = true,
    .can_absorb_relu = true,
    .may_cut[HR_CUT_CHANNELS] = true,
    .rounds = {false, true},
    .parse = hr_layer_parse_nothing,
    .fit = fit,
    .forward = forward,
    .backward = backward,
};
