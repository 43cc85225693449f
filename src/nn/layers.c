/* From a name to its layer (HR_LAYERS); this file calls all of them, and none calls it. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "nn/layer.h"

#define ENTRY(name) &hr_layer_##name,
static const struct hr_layer_type *const types[] = {HR_LAYERS(ENTRY)};

enum { NTYPES = sizeof types / sizeof *types, MAX_CHOICES = NTYPES + 8 };

/* Add "word" or ", word" to a list in a buffer; what does not fit is cut off. */
static void list_word(char *list, size_t bytes, const char *word)
{
    hr_append(list, bytes, "%s%s", list[0] ? ", " : "", word);
}

static bool is_builtin(const char *word)
{
    for (const char *const *builtin = hr_model_builtins(); *builtin; builtin++)
        if (!strcmp(word, *builtin))
            return true;
    return false;
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
    for (const char *const *builtin = hr_model_builtins(); *builtin; builtin++) {
        list_word(models, sizeof models, *builtin);
        if (!alone)
            continue;
        HR_ASSERT(n < MAX_CHOICES);
        choices[n++] = *builtin;
    }
    if (is_builtin(word))
        return hr_fail(HR_E_USAGE,
                       "is a model of its own and no layer; expected layers, or names of models "
                       "alone: %s",
                       models);
    const char *closest = hr_closest_word(word, choices);
    if (closest)
        snprintf(hint, sizeof hint, ", did you mean \"%s\"?", closest);
    return hr_fail(HR_E_USAGE, "unknown layer%s (layers: %s%s%s)", hint, layers,
                   alone ? "; models: " : "", alone ? models : "");
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
