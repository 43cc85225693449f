#include "nn/layer.h"

#include <stdio.h>
#include <string.h>

/* In alphabetical order: messages list them. */
static const struct hr_layer_type *const types[] = {
    &hr_layer_avgpool, &hr_layer_batchnorm, &hr_layer_conv,     &hr_layer_dense,
    &hr_layer_dropout, &hr_layer_flatten,   &hr_layer_gelu,     &hr_layer_globalavgpool,
    &hr_layer_maxpool, &hr_layer_relu,      &hr_layer_residual, &hr_layer_sigmoid,
    &hr_layer_tanh,
};

enum { NTYPES = sizeof types / sizeof *types, MAX_CHOICES = NTYPES + 8 };

const char *hr_dims_text(const struct hr_dims *dims, char *buffer, size_t bytes)
{
    size_t used = 0;
    for (size_t d = 0; d < dims->ndim && used < bytes; d++)
        used +=
            (size_t)snprintf(buffer + used, bytes - used, "%s%zu", d ? ", " : "(", dims->size[d]);
    if (used < bytes)
        snprintf(buffer + used, bytes - used, ")");
    return buffer;
}

/* Add "word" or ", word" to a list in a buffer; what does not fit is cut off. */
static void list_word(char *list, size_t bytes, const char *word)
{
    const size_t used = strlen(list);
    snprintf(list + used, bytes - used, "%s%s", used ? ", " : "", word);
}

static enum hr_status fail_unknown(const char *word, bool alone)
{
    const char *choices[MAX_CHOICES + 1] = {NULL};
    char layers[320] = "", models[120] = "", hint[64] = "";
    size_t n = 0;
    for (; n < NTYPES; n++) {
        choices[n] = types[n]->name;
        list_word(layers, sizeof layers, types[n]->name);
    }
    for (const char *const *builtin = hr_model_builtins(); alone && *builtin; builtin++) {
        HR_ASSERT(n < MAX_CHOICES);
        choices[n++] = *builtin;
        list_word(models, sizeof models, *builtin);
    }
    const char *closest = hr_closest_word(word, choices);
    if (closest)
        snprintf(hint, sizeof hint, ", did you mean \"%s\"?", closest);
    return hr_fail(HR_E_USAGE, "unknown layer%s (layers: %s%s%s)", hint, layers,
                   alone ? "; models: " : "", models);
}

enum hr_status hr_layer_parse(const struct hr_layer_text *text, bool alone, struct hr_layer *out)
{
    for (size_t t = 0; t < NTYPES; t++) {
        if (strcmp(types[t]->name, text->words[0]) != 0)
            continue;
        *out = (struct hr_layer){.type = types[t]};
        return types[t]->parse(out, text);
    }
    return fail_unknown(text->words[0], alone);
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
