/* embedding D - torch.nn.Embedding(V, D): each token's row of a table, V from the data.
 *
 *     y (T,D) = weight[x[t]]        weight (V,D); x (T) numbers of tokens, as floats
 *
 * Its gradient is added to that of a layer `tied` behind it, which has written its own.
 *
 * Order: rows of dy from the first sample's first token on.
 */
#include <string.h>

#include "kernels/rows.h"
#include "nn/layer.h"

static enum hr_status parse(struct hr_layer *layer, const struct hr_layer_text *text)
{
    if (text->nwords != 2)
        return hr_fail(HR_E_USAGE, "expected one number, the width, as in \"embedding 64\"");
    return hr_layer_parse_size(text->words[1], &layer->size[0]);
}

static enum hr_status fit(struct hr_layer *layer)
{
    const size_t V = layer->tokens, D = layer->size[0], T = hr_dims_elems(&layer->in);
    if (!V)
        return hr_fail(HR_E_USAGE, "is of tokens, and the data are no text; expected --data "
                                   "FILE.txt, and no embedding else");
    if (layer->index) /* what else there is are no numbers of tokens */
        return hr_fail(HR_E_USAGE, "reads tokens: expected it as the first layer");
    layer->out = (struct hr_dims){.ndim = 2, .size = {D, T}};
    layer->tensors[0] = (struct hr_layer_tensor){
        .name = "weight", .ndim = 2, .shape = {V, D}, .init = HR_INIT_NORMAL};
    layer->ntensors = 1;
    layer->fan_in = D;
    return HR_OK;
}

static size_t scratch_bytes(const struct hr_layer *layer, size_t B, size_t threads)
{
    (void)threads;
    return B * layer->out.size[1] * sizeof(uint32_t);
}

/* ids (B,T) */
static const uint32_t *ids_of(const struct hr_layer *layer, const struct hr_pass *pass)
{
    uint32_t *ids = pass->scratch;
    for (size_t i = 0; i < pass->B * layer->out.size[1]; i++)
        ids[i] = (uint32_t)pass->x[i];
    return ids;
}

static void forward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    hr_row_loops()->gather(pass->B * layer->out.size[1], layer->out.size[0], ids_of(layer, pass),
                           pass->params, pass->y);
}

static void backward(const struct hr_layer *layer, const struct hr_pass *pass)
{
    const size_t D = layer->out.size[0];
    if (!layer->is_tied)
        memset(pass->grads, 0, layer->tokens * D * sizeof *pass->grads);
    hr_row_loops()->scatter_add(pass->B * layer->out.size[1], D, ids_of(layer, pass), pass->dy,
                                pass->grads);
}

const struct hr_layer_type hr_layer_embedding = {
    .name = "embedding",
    .parse = parse,
    .fit = fit,
    .scratch_bytes = scratch_bytes,
    .forward = forward,
    .backward = backward,
};
