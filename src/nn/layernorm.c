/* layernorm - torch.nn.LayerNorm(D) with eps 1e-5, over the D features of each place of a sequence,
 * or of a sample: Ba, Kiros and Hinton, "Layer normalization", arXiv 1607.06450.
 *
 *     y = (x - mean) / sqrt(var + eps) w + bias        w, bias (D)
 *
 * Order: as kernels/rows.h adds them, over the rows of all samples.
 */
#include <string.h>

#include "kernels/rows.h"
#include "nn/layer.h"

static enum hr_status fit(struct hr_layer *layer)
{
    static const char *const names[] = {"weight", "bias"};
    static const enum hr_layer_init inits[] = {HR_INIT_ONES, HR_INIT_ZEROS};
    char text[80];
    if (layer->in.ndim == 3)
        return hr_fail(HR_E_USAGE,
                       "its input has shape %s, expected features, or those of a sequence; of "
                       "images groupnorm 1 is the like",
                       hr_dims_text(&layer->in, text, sizeof text));
    layer->out = layer->in;
    layer->ntensors = 2;
    for (size_t t = 0; t < 2; t++)
        layer->tensors[t] = (struct hr_layer_tensor){
            .name = names[t], .ndim = 1, .shape = {layer->in.size[0]}, .init = inits[t]};
    layer->madds = (double)hr_dims_elems(&layer->in);
    return HR_OK;
}

static size_t rows_of(const struct hr_layer *layer, size_t B)
{
    return B * hr_dims_rows(&layer->in);
}

/* mean and 1 / sqrt(var + eps) of each row */
static size_t saved_bytes(const struct hr_layer *layer, size_t B)
{
    return 2 * rows_of(layer, B) * sizeof(float);
}

/* In evaluation they are nobody's. */
static size_t scratch_bytes(const struct hr_layer *layer, size_t B, size_t threads)
{
    (void)threads;
    return saved_bytes(layer, B);
}

static void forward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    const size_t rows = rows_of(layer, pass->B), D = layer->in.size[0];
    float *mean = pass->saved ? pass->saved : pass->scratch, *inverse = mean + rows;
    hr_row_loops()->layernorm(rows, D, pass->x, pass->params, pass->params + D, pass->y, mean,
                              inverse);
}

static void backward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    const size_t rows = rows_of(layer, pass->B), D = layer->in.size[0];
    const float *mean = pass->saved, *inverse = mean + rows;
    memset(pass->grads, 0, 2 * D * sizeof *pass->grads);
    hr_row_loops()->layernorm_backward(rows, D, pass->x, pass->params, mean, inverse, pass->dy,
                                       pass->dx, pass->grads, pass->grads + D);
}

const struct hr_layer_type hr_layer_layernorm = {
    .name = "layernorm",
    .parse = hr_layer_parse_nothing,
    .fit = fit,
    .saved_bytes = saved_bytes,
    .scratch_bytes = scratch_bytes,
    .forward = forward,
    .backward = backward,
};
