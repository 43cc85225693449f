/* model_text.h - the text of a layer list, and the flat list of layers that it means.
 *
 *     list   = layer { "," layer }        layer = name { argument } | block
 *     block  = "residual" "(" list ")" [ "shortcut" "(" list ")" ]
 *     "repeat" number "(" list ")"        stands for the list, so many times
 *     "flatten,dense  256 , relu"   ->    "flatten, dense 256, relu"
 *
 * Blanks (newlines too) part words and mean nothing else. What the words mean is the layers' own
 * business (layer.h). A block becomes its body's layers, its shortcut's, and a layer "residual"
 * that adds the two; each layer knows whose outputs it reads:
 *
 *     "dense 9, residual (dense 9, relu), relu"
 *     0 dense 9   from the input      path 0
 *     1 dense 9   from 0              path 1.body.0
 *     2 relu      from 1              path 1.body.1
 *     3 residual  from 2 and 0        path 1
 *     4 relu      from 3              path 2
 *
 * Paths are the names that PyTorch gives a Sequential's modules, a block being a module with two
 * Sequentials, `body` and `shortcut`.
 */
#ifndef HR_NN_MODEL_TEXT_H
#define HR_NN_MODEL_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum {
    HR_MODEL_MAX_TEXT = 4095,
    HR_MODEL_MAX_LAYERS = 256,
    HR_MODEL_MAX_DEPTH = 4, /* of blocks in blocks */
    HR_LAYER_MAX_WORDS = 12,
};
#define HR_FROM_INPUT ((size_t)-1) /* in place of a layer: the network's input */

struct hr_layer_text {
    size_t nwords;                         /* at least 1: the name */
    const char *words[HR_LAYER_MAX_WORDS]; /* views into hr_model_text.cut */
    char path[64];
    size_t nfrom; /* 1, or 2: body, then shortcut */
    size_t from[2];
};

struct hr_model_text {
    char *list; /* owned; words one blank apart, layers ", " apart, "residual (...)" */
    char *cut;  /* owned; the words, each ended */
    struct hr_layer_text *layers; /* (nlayers), owned */
    size_t nlayers;               /* at least 1 */
};

/* Parse `description`: a layer list, or the name of a built-in model with `classes` outputs.
 * HR_E_USAGE names the layer or quotes the spot, HR_E_NOMEM. On failure *out owns nothing. */
HR_CHECKED enum hr_status hr_model_text_parse(const char *description, size_t classes,
                                              struct hr_model_text *out);
void hr_model_text_fini(struct hr_model_text *text);

/* "dense 10": the words of a layer joined again, cut to size; returns buffer. */
const char *hr_layer_text_join(const struct hr_layer_text *layer, char *buffer, size_t size);

/* Does it begin with an embedding, as all that read text do? */
bool hr_model_text_reads_tokens(const char *description);

/* The names of the built-in models, ended by NULL. */
const char *const *hr_model_builtins(void);

/* The one of `choices` (ended by NULL) that `word` is most likely a misspelling of, or NULL. */
const char *hr_closest_word(const char *word, const char *const *choices);

#endif
