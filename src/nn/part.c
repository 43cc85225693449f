#include "nn/part.h"

#include <stdlib.h>
#include <string.h>

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

/* Layers and their texts, numbered from the part's first on; words are the whole model's. */
static void take_layers(const struct hr_model *model, struct hr_model *part)
{
    const size_t first = part->part.first, n = part->text.nlayers;
    const struct hr_layer *begin = &model->layers[first];
    memcpy(part->layers, begin, n * sizeof *begin);
    memcpy(part->text.layers, &model->text.layers[first], n * sizeof *part->text.layers);
    for (size_t i = 0; i < n; i++) {
        struct hr_layer_text *text = &part->text.layers[i];
        for (size_t k = 0; first && k < text->nfrom; k++)
            text->from[k] = text->from[k] < first ? HR_FROM_INPUT : text->from[k] - first;
        part->layers[i].first_tensor -= begin->first_tensor;
        part->layers[i].param_offset -= begin->param_offset;
        part->ntensors += part->layers[i].ntensors;
    }
    if (part->part.continues || part->part.recomputes) /* its input is read again */
        part->layers[0].in_place = false;
    part->part.param_begin = begin->param_offset;
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
