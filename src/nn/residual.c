/* residual ( ... ) shortcut ( ... ) - the end of such a block: y = body(x) + shortcut(x), and
 * body(x) + x without a shortcut. The layers inside stand before it in the model's list; this one
 * reads two outputs, of which the body's is overwritten. */
#include <string.h>

#include "base/vec.h"
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
    for (size_t r = 0, at = strips.first; r < strips.count; r++, at += strips.step) {
        if (pass->y != pass->x)
            memcpy(pass->y + at, pass->x + at, strips.length * sizeof *pass->y);
        hr_vec()->add(pass->y + at, pass->x2 + at, strips.length);
    }
}

static void backward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    const struct hr_strips strips = hr_layer_strips(layer, pass);
    const size_t bytes = strips.length * sizeof *pass->dy;
    for (size_t r = 0, at = strips.first; r < strips.count; r++, at += strips.step) {
        if (pass->dx2)
            memcpy(pass->dx2 + at, pass->dy + at, bytes);
        if (pass->dx && pass->dx != pass->dy)
            memcpy(pass->dx + at, pass->dy + at, bytes);
    }
}

const struct hr_layer_type hr_layer_residual = {
    .name = "residual",
    .may_cut[HR_CUT_CHANNELS] = true,
    .parse = hr_layer_parse_nothing,
    .fit = fit,
    .forward = forward,
    .backward = backward,
};
