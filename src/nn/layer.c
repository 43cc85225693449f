#include "nn/layer.h"

#include <stdio.h>
#include <string.h>

const char *hr_dims_text(const struct hr_dims *dims, char *buffer, size_t bytes)
{
    size_t used = 0;
    const bool turned = dims->ndim == 2; /* as PyTorch says it */
    for (size_t d = 0; d < dims->ndim && used < bytes; d++)
        used += (size_t)snprintf(buffer + used, bytes - used, "%s%zu", d ? ", " : "(",
                                 dims->size[turned ? 1 - d : d]);
    if (used < bytes)
        snprintf(buffer + used, bytes - used, ")");
    return buffer;
}

struct hr_strips hr_strips_of(const struct hr_dims *dims, size_t B, struct hr_channels channels)
{
    const size_t C = dims->size[0], rows = B * hr_dims_elems(dims) / C;
    const size_t length = channels.end - channels.begin;
    if (length == C)
        return (struct hr_strips){0, 1, rows * C, 0};
    return (struct hr_strips){channels.begin, length ? rows : 0, length, C};
}

struct hr_strips hr_layer_strips(const struct hr_layer *layer, const struct hr_pass *pass)
{
    const struct hr_channels all = {0, layer->in.size[0]};
    return hr_strips_of(&layer->in, pass->B, layer->cut == HR_CUT_NOT ? all : pass->in);
}

double hr_layer_multiplied(const struct hr_layer *layer)
{
    return layer->type->multiplied ? layer->type->multiplied(layer) : layer->madds;
}

size_t hr_layer_param_count(const struct hr_layer *layer)
{
    size_t count = 0;
    for (size_t t = 0; t < layer->ntensors; t++) {
        size_t product = 1;
        for (size_t d = 0; d < layer->tensors[t].ndim; d++)
            product *= layer->tensors[t].shape[d];
        count += product;
    }
    return count;
}

enum hr_status hr_layer_parse_number(const char *word, size_t least, size_t *out)
{
    size_t value = 0;
    bool valid = *word != '\0';
    for (const char *c = word; *c && valid; c++) {
        valid = *c >= '0' && *c <= '9';
        value = 10 * value + (size_t)(*c - '0');
        valid = valid && value <= HR_LAYER_MAX_SIZE;
    }
    if (!valid || value < least)
        return hr_fail(HR_E_USAGE, "found \"%.40s\", expected a whole number from %zu to %d", word,
                       least, HR_LAYER_MAX_SIZE);
    *out = value;
    return HR_OK;
}

enum hr_status hr_layer_parse_size(const char *word, size_t *out)
{
    return hr_layer_parse_number(word, 1, out);
}

enum hr_status hr_layer_parse_nothing(struct hr_layer *layer, const struct hr_layer_text *text)
{
    if (text->nwords > 1)
        return hr_fail(HR_E_USAGE, "found \"%.40s\", expected nothing behind \"%s\"",
                       text->words[1], layer->type->name);
    return HR_OK;
}

static const char *const precisions[] = {
    [HR_PRECISION_FLOAT32] = "float32", [HR_PRECISION_BF16] = "bf16"};

enum hr_status hr_precision_parse(const char *name, enum hr_precision *out)
{
    for (size_t i = 0; i < sizeof precisions / sizeof *precisions; i++)
        if (!strcmp(name, precisions[i])) {
            *out = (enum hr_precision)i;
            return HR_OK;
        }
    return hr_fail(HR_E_USAGE, "--precision %s: expected float32 or bf16", name);
}

const char *hr_precision_name(enum hr_precision precision)
{
    return precisions[precision];
}
