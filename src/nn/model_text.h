/* model_text.h - the text of a layer list, cut into layers and words.
 *
 *     list   = layer { "," layer }        layer = name { argument }
 *     "flatten,dense  256 , relu"   ->    "flatten, dense 256, relu"
 *
 * Blanks (newlines too) part words and mean nothing else. What the words mean is the layers' own
 * business (layer.h).
 */
#ifndef HR_NN_MODEL_TEXT_H
#define HR_NN_MODEL_TEXT_H

#include <stddef.h>

#include "base/error.h"

enum { HR_MODEL_MAX_TEXT = 4095, HR_MODEL_MAX_LAYERS = 256, HR_LAYER_MAX_WORDS = 12 };

struct hr_layer_text {
    size_t nwords;                         /* at least 1: the name */
    const char *words[HR_LAYER_MAX_WORDS]; /* views into hr_model_text.cut */
};

struct hr_model_text {
    char *list;                   /* owned; words one blank apart, layers ", " apart */
    char *cut;                    /* owned; the same, but ended after each word */
    struct hr_layer_text *layers; /* (nlayers), owned */
    size_t nlayers;               /* at least 1 */
};

/* Parse `description`, a layer list or the name of a built-in model, which stands for its list.
 * HR_E_USAGE names the layer, HR_E_NOMEM. On failure *out owns nothing. */
HR_CHECKED enum hr_status hr_model_text_parse(const char *description, struct hr_model_text *out);
void hr_model_text_fini(struct hr_model_text *text);

/* "dense 10": the words of a layer joined again, cut to size; returns buffer. */
const char *hr_layer_text_join(const struct hr_layer_text *layer, char *buffer, size_t size);

/* The names of the built-in models, ended by NULL. */
const char *const *hr_model_builtins(void);

/* The one of `choices` (ended by NULL) that `word` is most likely a misspelling of, or NULL. */
const char *hr_closest_word(const char *word, const char *const *choices);

#endif
