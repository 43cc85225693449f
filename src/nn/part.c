#include "nn/part.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "nn/model_impl.h"

/* Does a layer from `at` on read what the layer right before it did not write? */
static bool skips_across(const struct hr_model *model, size_t at)
{
    for (size_t i = at; i < model->text.nlayers; i++)
        for (size_t k = 0; k < model->text.layers[i].nfrom; k++) {
            const size_t from = model->text.layers[i].from[k];
            if (from == HR_FROM_INPUT || from + 1 < at)
                return true;
        }
    return false;
}

static bool has_tensors_before(const struct hr_model *model, size_t at)
{
    size_t tensors = 0;
    for (size_t i = 0; i < at; i++)
        tensors += model->layers[i].ntensors;
    return tensors > 0;
}

enum hr_status hr_model_may_cut(const struct hr_model *model, size_t at)
{
    char text[60];
    const size_t n = model->text.nlayers;
    if (at == 0 || at >= n)
        return hr_fail(HR_E_USAGE, "no cut before layer %zu of %zu: a part has a layer at least",
                       at, n);
    const struct hr_layer *layer = &model->layers[at];
    const char *path = model->text.layers[at].path;
    hr_layer_text_join(&model->text.layers[at], text, sizeof text);
    if (skips_across(model, at))
        return hr_fail(HR_E_USAGE, "no cut before layer %s \"%s\": a residual block stays whole",
                       path, text);
    if (layer->done_before || layer->absorbed)
        return hr_fail(HR_E_USAGE,
                       "no cut before layer %s \"%s\": the layer before it does its work", path,
                       text);
    if (!has_tensors_before(model, at))
        return hr_fail(HR_E_USAGE,
                       "no cut before layer %s \"%s\": nothing before it has parameters", path,
                       text);
    return HR_OK;
}

struct hr_tied hr_model_tied(const struct hr_model *model)
{
    for (size_t i = 0; i < model->text.nlayers; i++) {
        const struct hr_layer *table = model->layers[i].table;
        if (table)
            return (struct hr_tied){table->index, i, table->param_offset,
                                    hr_layer_param_count(table)};
    }
    return (struct hr_tied){0};
}

/* Layers and their texts, numbered from the part's first on; words are the whole model's. */
static void take_layers(const struct hr_model *model, struct hr_model *part)
{
    const size_t first = part->part.first, n = part->text.nlayers;
    const struct hr_layer *begin = &model->layers[first];
    const size_t tensor = begin->first_tensor;
    part->part.param_begin =
        tensor < model->ntensors ? model->tensors[tensor].offset : model->param_count;
    memcpy(part->layers, begin, n * sizeof *begin);
    memcpy(part->text.layers, &model->text.layers[first], n * sizeof *part->text.layers);
    for (size_t i = 0; i < n; i++) {
        struct hr_layer_text *text = &part->text.layers[i];
        for (size_t k = 0; first && k < text->nfrom; k++)
            text->from[k] = text->from[k] < first ? HR_FROM_INPUT : text->from[k] - first;
        part->layers[i].first_tensor -= begin->first_tensor;
        part->layers[i].param_offset -= part->part.param_begin;
        part->ntensors += part->layers[i].ntensors;
    }
    if (part->part.continues || part->part.recomputes) /* its input is read again */
        part->layers[0].in_place = false;
    part->part.output_layer = n - 1;
    while (part->layers[part->part.output_layer].in_place ||
           part->layers[part->part.output_layer].absorbed)
        part->part.output_layer = part->text.layers[part->part.output_layer].from[0];
}

static void take_tensors(const struct hr_model *model, struct hr_model *part)
{
    const struct hr_tensor_info *begin =
        &model->tensors[model->layers[part->part.first].first_tensor];
    memcpy(part->tensors, begin, part->ntensors * sizeof *begin);
    for (size_t t = 0; t < part->ntensors; t++) {
        part->tensors[t].offset -= part->part.param_begin;
        part->param_count += part->tensors[t].count;
    }
}

static enum hr_status take(const struct hr_model *model, struct hr_model *part)
{
    const size_t n = part->text.nlayers;
    part->layers = calloc(n, sizeof *part->layers);
    part->text.layers = calloc(n, sizeof *part->text.layers);
    part->tensors = calloc(model->ntensors, sizeof *part->tensors);
    if (!part->layers || !part->text.layers || !part->tensors)
        return hr_fail(HR_E_NOMEM, "no memory for a part of %zu layers", n);
    take_layers(model, part);
    take_tensors(model, part);
    return hr_graph_route(part);
}

enum hr_status hr_model_part(const struct hr_model *model, size_t first, size_t end,
                             struct hr_part_manner manner, struct hr_model **out)
{
    const size_t n = model->text.nlayers;
    HR_ASSERT(first < end && end <= n && !model->part.continues && !model->part.goes_on);
    if (first > 0)
        HR_TRY(hr_model_may_cut(model, first));
    if (end < n)
        HR_TRY(hr_model_may_cut(model, end));
    struct hr_model *part = calloc(1, sizeof *part);
    if (!part)
        return hr_fail(HR_E_NOMEM, "no memory for a part of a model");
    part->text.nlayers = end - first;
    part->loss = model->loss;
    part->classes = model->classes;
    part->precision = model->precision;
    part->pixels_first = first == 0 && model->pixels_first;
    part->input = first == 0 ? model->input : model->layers[first - 1].out;
    part->part = (struct hr_part_place){.first = first,
                                        .continues = first > 0,
                                        .goes_on = end < n,
                                        .in_halves = manner.in_halves,
                                        .recomputes = manner.recomputes};
    const enum hr_status status = take(model, part);
    if (status == HR_OK)
        *out = part;
    else
        hr_model_destroy(part);
    return status;
}

size_t hr_part_param_begin(const struct hr_model *part)
{
    return part->part.param_begin;
}

size_t hr_part_inputs(const struct hr_model *part)
{
    return hr_dims_elems(&part->input);
}

/* --- how a model is cut into shards: which layer how; and where ranks meet --- */

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
    static const char *const names[HR_CUTS] = {"not", "by columns", "by rows", "by channels",
                                               "by heads"};
    return names[cut];
}

/* --- how --- */

/* A dropout's mask is bits, and the channels of a pixel, or a place, may begin in the middle of a
 * byte. */
static bool goes_by_channels(const struct hr_layer *layer)
{
    const bool still = layer->type == &hr_layer_flatten && layer->in_place;
    const bool bits = layer->type == &hr_layer_dropout && layer->in.ndim > 1;
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
    if (layer->type->may_cut[HR_CUT_HEADS])
        return HR_CUT_HEADS;
    return goes_by_channels(layer) ? HR_CUT_CHANNELS : HR_CUT_NOT;
}

/* The most shards that all have work in some layer. */
static size_t most_shards(const struct hr_model *model, const struct hr_model_split *split)
{
    size_t most = 1;
    for (size_t i = 0; i < model->text.nlayers; i++) {
        const struct hr_layer *layer = &model->layers[i];
        const size_t pieces = split->cut[i] == HR_CUT_COLUMNS ? eights_of(layer->out.size[0])
                              : split->cut[i] == HR_CUT_ROWS  ? eights_of(layer->in.size[0])
                              : split->cut[i] == HR_CUT_HEADS ? layer->in.size[0] / layer->head
                                                              : 0;
        most = pieces > most ? pieces : most;
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
    if (most < 2)
        return hr_fail(HR_E_USAGE, "no layer that can be cut has eight channels, or a head, for "
                                   "each of two shards; expected a model with a wider one");
    return hr_fail(HR_E_USAGE,
                   "the widest layer that can be cut has eight channels, or a head, for at most "
                   "%zu shards; "
                   "expected 1 to %zu",
                   most, most);
}

/* --- where they meet --- */

/* Activations and gradients of ranks that compute a split part together are arrays that all of them
 * reach. Between two meetings no rank may read what another writes, nor write what another reads or
 * writes. The passes are gone through on paper, layer by layer; where one would break that, ranks
 * meet before it (layer->meets). Sums over shards have a meeting of their own, between the partial
 * sums and their addition.
 *
 * Whoever begins a pass knows that all have ended the one before. */
enum who {
    NOBODY,
    EVERYBODY, /* each rank all of it */
    ONE,       /* rank 0 */
    OWNERS,    /* each its shards' channels */
    SHARDS,    /* each its shards' own arrays: partial sums */
};

/* What has been done with an array since ranks met. */
struct touch {
    enum who who;
    size_t channels; /* OWNERS: of how many */
    bool written;
};

/* All arrays: outputs of layers (the input is number 0), gradients' slots, partial sums. */
struct paper {
    const struct hr_model *part;
    size_t n;
    struct touch *now; /* (n) */
    struct access {
        size_t array;
        struct touch touch;
    } next[8]; /* of the layer in hand */
    size_t nnext;
};

/* Layers that work in place have the array of another. */
static size_t output_array(const struct hr_model *part, size_t i)
{
    while (i != HR_FROM_INPUT && (part->layers[i].in_place || part->layers[i].absorbed))
        i = part->text.layers[i].from[0];
    return i == HR_FROM_INPUT ? 0 : i + 1;
}

static size_t slot_array(const struct hr_model *part, size_t slot)
{
    return part->text.nlayers + 1 + slot;
}

static size_t partial_array(const struct hr_model *part)
{
    return part->text.nlayers + 1 + part->nslots;
}

/* --- what is done --- */

static void add(struct paper *paper, size_t array, enum who who, const struct hr_dims *dims,
                bool writes)
{
    const size_t channels = who == OWNERS ? dims->size[0] : 0;
    paper->next[paper->nnext++] = (struct access){array, {who, channels, writes}};
}

static void add_slot(struct paper *paper, size_t slot, enum who who, const struct hr_dims *dims,
                     bool writes)
{
    if (slot != HR_NO_SLOT)
        add(paper, slot_array(paper->part, slot), who, dims, writes);
}

static bool is_disturbed(const struct touch *before, const struct touch *touch)
{
    if (before->who == NOBODY || (!before->written && !touch->written))
        return false;
    return before->who != touch->who || touch->who == EVERYBODY ||
           before->channels != touch->channels;
}

/* All that was added. Returns whether ranks must meet before it. */
static bool do_next(struct paper *paper, bool meets)
{
    for (size_t i = 0; i < paper->nnext; i++)
        meets |= is_disturbed(&paper->now[paper->next[i].array], &paper->next[i].touch);
    for (size_t i = 0; meets && i < paper->n; i++)
        paper->now[i] = (struct touch){0};
    for (size_t i = 0; i < paper->nnext; i++) {
        struct touch *now = &paper->now[paper->next[i].array];
        const struct touch *touch = &paper->next[i].touch;
        const bool alike = now->who == touch->who && now->channels == touch->channels;
        if (now->who == NOBODY)
            *now = *touch;
        else if (!alike) /* both read */
            now->who = EVERYBODY;
        now->written |= touch->written;
    }
    paper->nnext = 0;
    return meets;
}

/* --- layer by layer --- */

static const enum who reads_x[HR_CUTS] = {ONE, EVERYBODY, OWNERS, OWNERS, EVERYBODY};
static const enum who reads_dy[HR_CUTS] = {ONE, OWNERS, EVERYBODY, OWNERS, EVERYBODY};

static enum who writer_of(const struct hr_layer *layer)
{
    return layer->cut == HR_CUT_NOT ? ONE : OWNERS;
}

/* The partial sums are there: each rank adds its channels. */
static void add_sums(struct paper *paper)
{
    add(paper, partial_array(paper->part), EVERYBODY, NULL, false);
}

static void go_forward(struct paper *paper, size_t i)
{
    struct hr_layer *layer = &paper->part->layers[i];
    const struct hr_layer_text *text = &paper->part->text.layers[i];
    const struct hr_dims *out = &layer[layer->absorbs].out;
    const bool sums = hr_layer_sums_y(layer);
    add(paper, output_array(paper->part, text->from[0]), reads_x[layer->cut], &layer->in, false);
    if (text->nfrom > 1)
        add(paper, output_array(paper->part, text->from[1]), reads_x[layer->cut], &layer->in2,
            false);
    if (sums) {
        add(paper, partial_array(paper->part), SHARDS, NULL, true);
        layer->meets[0] = do_next(paper, false);
        add_sums(paper);
    }
    add(paper, output_array(paper->part, i + layer->absorbs), writer_of(layer), out, true);
    const bool meets = do_next(paper, sums);
    if (!sums)
        layer->meets[0] = meets;
}

static void go_backward(struct paper *paper, size_t i)
{
    struct hr_layer *layer = &paper->part->layers[i];
    const struct hr_flow *flow = &paper->part->flows[i];
    const bool sums = hr_layer_sums_dx(layer) && flow->dx[0] != HR_NO_SLOT;
    add_slot(paper, flow->dy, reads_dy[layer->cut], &layer[layer->absorbs].out, false);
    if (sums) {
        add(paper, partial_array(paper->part), SHARDS, NULL, true);
        layer->meets[1] = do_next(paper, false);
        add_sums(paper);
    }
    add_slot(paper, flow->dx[0], writer_of(layer), &layer->in, true);
    add_slot(paper, flow->dx[1], writer_of(layer), &layer->in2, true);
    add_slot(paper, flow->add_to[0], writer_of(layer), &layer->in, true);
    add_slot(paper, flow->add_to[1], writer_of(layer), &layer->in2, true);
    const bool meets = do_next(paper, sums);
    if (!sums)
        layer->meets[1] = meets;
}

static bool moves_nothing(const struct hr_layer *layer)
{
    return layer->type == &hr_layer_flatten && layer->in_place;
}

static enum hr_status plan_meetings(struct hr_model *part)
{
    const size_t nlayers = part->text.nlayers;
    struct paper paper = {.part = part, .n = nlayers + 2 + part->nslots};
    paper.now = calloc(paper.n, sizeof *paper.now);
    if (!paper.now)
        return hr_fail(HR_E_NOMEM, "no memory for a part of %zu layers", nlayers);
    if (part->pixels_first) { /* rank 0 brings the input into order */
        add(&paper, 0, ONE, NULL, true);
        do_next(&paper, false);
    }
    for (size_t i = 0; i < nlayers; i++)
        if (!part->layers[i].done_before && !part->layers[i].absorbed &&
            !moves_nothing(&part->layers[i]))
            go_forward(&paper, i);
    for (size_t a = 0; a < paper.n; a++)
        paper.now[a] = (struct touch){0};
    if (!part->part.goes_on) { /* and computes the loss */
        add_slot(&paper, part->part.dy_slot, ONE, NULL, true);
        do_next(&paper, false);
    }
    for (size_t i = nlayers; i-- > 0;)
        if (part->flows[i].trained && !part->layers[i].absorbed && !moves_nothing(&part->layers[i]))
            go_backward(&paper, i);
    free(paper.now);
    return HR_OK;
}

/* --- both --- */

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
        const bool sums_dx = hr_layer_sums_dx(layer) && part->flows[i].dx[0] != HR_NO_SLOT;
        const struct hr_dims *sum = hr_layer_sums_y(layer) ? &layer->out : &layer->in;
        if ((hr_layer_sums_y(layer) || sums_dx) && hr_dims_elems(sum) > part->widest)
            part->widest = hr_dims_elems(sum);
    }
    return plan_meetings(part);
}
