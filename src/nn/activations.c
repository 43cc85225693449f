/* Layers of one function a number, y = f(x), and dx = f'(x) dy:
 *
 *     relu     max(0, x)           its mask is the sign of y
 *     sigmoid  1 / (1 + e^-x)      y (1 - y)
 *     tanh     tanh x              1 - y^2
 *     gelu     x P(X <= x)         X normal: torch.nn.GELU(), the exact form; wants x
 *
 * Where the derivative is one of y, x is not kept: the layer works in place. */
#include "kernels/elementwise.h"
#include "kernels/smooth.h"
#include "nn/layer.h"

static enum hr_status fit(struct hr_layer *layer)
{
    layer->out = layer->in;
    layer->in_place = layer->type->reads_y;
    return HR_OK;
}

/* A layer's two passes, strip by strip: kernels of (count, x, y), and of (count, `of`, dy, dx). */
#define HR_ACTIVATION(layer_name, table, of, ...)                                                  \
    static void layer_name##_forward(const struct hr_layer *layer, const struct hr_pass *pass)     \
    {                                                                                              \
        const struct hr_strips strips = hr_layer_strips(layer, pass);                              \
        for (size_t r = 0, at = strips.first; r < strips.count; r++, at += strips.step)            \
            table()->layer_name(strips.length, pass->x + at, pass->y + at);                        \
    }                                                                                              \
    static void layer_name##_backward(const struct hr_layer *layer, const struct hr_pass *pass)    \
    {                                                                                              \
        const struct hr_strips strips = hr_layer_strips(layer, pass);                              \
        for (size_t r = 0, at = strips.first; pass->dx && r < strips.count;                        \
             r++, at += strips.step)                                                               \
            table()->layer_name##_backward(strips.length, pass->of + at, pass->dy + at,            \
                                           pass->dx + at);                                         \
    }                                                                                              \
    const struct hr_layer_type hr_layer_##layer_name = {.name = #layer_name,                       \
                                                        .may_cut[HR_CUT_CHANNELS] = true,          \
                                                        .parse = hr_layer_parse_nothing,           \
                                                        .fit = fit,                                \
                                                        .forward = layer_name##_forward,           \
                                                        .backward = layer_name##_backward,         \
                                                        __VA_ARGS__};

HR_ACTIVATION(relu, hr_elementwise, y, .reads_y = true, .rounds = {true, true})
HR_ACTIVATION(sigmoid, hr_smooth, y, .reads_y = true)
HR_ACTIVATION(tanh, hr_smooth, y, .reads_y = true)
HR_ACTIVATION(gelu, hr_smooth, x, .reads_y = false)
