/* How a model is cut into shards: which layer how. */
#include "nn/split.h"

#include "base/size.h"
#include "nn/model_impl.h"

enum { EIGHT = 8 };

static size_t eights_of(size_t channels)
{
    return (channels + EIGHT - 1) / EIGHT;
}

struct hr_channels hr_split_range(size_t channels, size_t shards, size_t shard)
{
    const size_t eights = eights_of(channels);
    return (struct hr_channels){
        hr_min_size(channels, EIGHT * hr_split_begin(eights, shards, shard)),
        hr_min_size(channels, EIGHT * hr_split_begin(eights, shards, shard + 1))};
}

const char *hr_layer_cut_name(enum hr_layer_cut cut)
{
    static const char *const names[HR_CUTS] = {"not", "by columns", "by rows", "by channels"};
    return names[cut];
}

/* --- how --- */

/* A dropout's mask is bits, and a pixel's channels may begin in the middle of a byte. */
static bool goes_by_channels(const struct hr_layer *layer)
{
    const bool still = layer->type == &hr_layer_flatten && layer->in_place;
    const bool bits = layer->type == &hr_layer_dropout && layer->in.ndim == 3;
    return still || (layer->type->may_cut[HR_CUT_CHANNELS] && !(bits && layer->in.size[0] % EIGHT));
}

/* Groups are not cut through. */
static bool goes_by_columns(const struct hr_layer *layer)
{
    const bool groups = layer->type == &hr_layer_conv && layer->size[6] > 1;
    return layer->type->may_cut[HR_CUT_COLUMNS] && !groups;
}

static bool may_sum(const struct hr_layer *layer)
{
    return layer->type->may_cut[HR_CUT_ROWS];
}

/* The layer that reads what layer i gives, through layers that go by channels; or none, `n`. */
static size_t reader_of(const struct hr_model *model, size_t i)
{
    const size_t n = model->text.nlayers;
    size_t at = i + 1;
    while (at < n && model->text.layers[at].nfrom == 1 &&
           model->text.layers[at].from[0] + 1 == at && goes_by_channels(&model->layers[at]))
        at++;
    return at < n && model->text.layers[at].from[0] + 1 == at ? at : n;
}

/* Neither end of it has a partner. */
static enum hr_layer_cut along_the_longer_side(const struct hr_layer *layer)
{
    return !may_sum(layer) || layer->out.size[0] >= layer->in.size[0] ? HR_CUT_COLUMNS
                                                                      : HR_CUT_ROWS;
}

static enum hr_layer_cut cut_of(const struct hr_model *model, size_t i,
                                const struct hr_model_split *split)
{
    const size_t n = model->text.nlayers, reader = reader_of(model, i);
    const struct hr_layer *layer = &model->layers[i];
    if (split->cut[i] == HR_CUT_ROWS) /* it is a partner */
        return HR_CUT_ROWS;
    if (goes_by_columns(layer))
        return reader < n && may_sum(&model->layers[reader]) ? HR_CUT_COLUMNS
                                                             : along_the_longer_side(layer);
    return goes_by_channels(layer) ? HR_CUT_CHANNELS : HR_CUT_NOT;
}

/* The most shards that all have work in some layer. */
static size_t most_shards(const struct hr_model *model, const struct hr_model_split *split)
{
    size_t most = 1;
    for (size_t i = 0; i < model->text.nlayers; i++) {
        const struct hr_layer *layer = &model->layers[i];
        const size_t eights = split->cut[i] == HR_CUT_COLUMNS ? eights_of(layer->out.size[0])
                              : split->cut[i] == HR_CUT_ROWS  ? eights_of(layer->in.size[0])
                                                              : 0;
        most = eights > most ? eights : most;
    }
    return most;
}

enum hr_status hr_split_plan(const struct hr_model *model, size_t shards,
                             struct hr_model_split *out)
{
    const size_t n = model->text.nlayers;
    *out = (struct hr_model_split){.shards = shards};
    if (shards < 2)
        return HR_OK;
    for (size_t i = 0; i < n; i++) {
        out->cut[i] = cut_of(model, i, out);
        const size_t reader = reader_of(model, i);
        if (out->cut[i] == HR_CUT_COLUMNS && reader < n && may_sum(&model->layers[reader]))
            out->cut[reader] = HR_CUT_ROWS;
    }
    const size_t most = most_shards(model, out);
    if (shards <= most)
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "the widest layer that can be cut has eight channels for at most %zu shards; "
                   "expected 1 to %zu",
                   most, most);
}

enum hr_status hr_part_split(struct hr_model *part, const struct hr_model_split *split)
{
    if (split->shards < 2)
        return HR_OK;
    part->shards = split->shards;
    for (size_t i = 0; i < part->text.nlayers; i++) {
        struct hr_layer *layer = &part->layers[i];
        layer->cut = split->cut[part->part.first + i];
        if (layer->type == &hr_layer_flatten && !layer->in_place) /* it is, in the whole */
            layer->cut = HR_CUT_NOT;
        const bool sums_dx = layer->cut == HR_CUT_COLUMNS && part->flows[i].dx[0] != HR_NO_SLOT;
        const struct hr_dims *sum = layer->cut == HR_CUT_ROWS ? &layer->out : &layer->in;
        if ((layer->cut == HR_CUT_ROWS || sums_dx) && hr_dims_elems(sum) > part->widest)
            part->widest = hr_dims_elems(sum);
    }
    return hr_meets_plan(part);
}
