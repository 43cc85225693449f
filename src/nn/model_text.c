#include "nn/model_text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"

static const char *const builtin_names[] = {"softmax", "mlp", "cnn", "lenet", NULL};
static const char *const builtin_lists[] = {
    "flatten, dense 10",
    "flatten, dense 256, relu, dense 128, relu, dense 10",
    "conv 32 3x3 pad 1, relu, maxpool 2, conv 64 3x3 pad 1, relu, maxpool 2, "
    "flatten, dense 128, relu, dense 10",
    "conv 6 5x5 pad 2, relu, maxpool 2, conv 16 5x5, relu, maxpool 2, "
    "flatten, dense 120, relu, dense 84, relu, dense 10",
};

const char *const *hr_model_builtins(void)
{
    return builtin_names;
}

/* The list that a built-in's name stands for; any other text is itself. */
static const char *expand(const char *description)
{
    const char *begin = description + strspn(description, " \t\r\n");
    const size_t length = strcspn(begin, " \t\r\n");
    if (begin[length + strspn(begin + length, " \t\r\n")] != '\0')
        return description;
    for (size_t i = 0; builtin_names[i]; i++)
        if (strlen(builtin_names[i]) == length && !strncmp(begin, builtin_names[i], length))
            return builtin_lists[i];
    return description;
}

/* Write `from` with one blank between words and ", " between layers. At most twice as long as
 * `from`: only a comma grows, by its blank. Control characters become '?', so that messages that
 * quote the list stay one line. Returns the number of layers. */
static size_t normalise(const char *from, char *to)
{
    size_t layers = 1;
    bool blank = false, first = true;
    for (; *from; from++) {
        const unsigned char c = (unsigned char)*from;
        if (c == ',') {
            memcpy(to, ", ", 2);
            to += 2;
            layers++;
            first = true;
            blank = false;
        } else if (isspace(c)) {
            blank = true;
        } else {
            if (blank && !first)
                *to++ = ' ';
            *to++ = iscntrl(c) ? '?' : (char)c;
            first = blank = false;
        }
    }
    *to = '\0';
    return layers;
}

/* Cut the layer that begins at `at` into words. *next is the layer after it, or NULL. */
static enum hr_status cut_layer(char *at, size_t index, struct hr_layer_text *layer, char **next)
{
    char *comma = strchr(at, ',');
    if (comma)
        *comma = '\0';
    *next = comma ? comma + 2 : NULL;
    char *rest = at;
    for (char *word; (word = strsep(&rest, " ")) != NULL;) {
        if (*word == '\0')
            return hr_fail(HR_E_USAGE, "model: layer %zu is empty: expected a layer there", index);
        if (layer->nwords == HR_LAYER_MAX_WORDS)
            return hr_fail(HR_E_USAGE, "model: layer %zu \"%.40s\": more than %d words", index,
                           layer->words[0], HR_LAYER_MAX_WORDS);
        layer->words[layer->nwords++] = word;
    }
    return HR_OK;
}

static enum hr_status cut_layers(struct hr_model_text *text)
{
    char *at = text->cut;
    for (size_t i = 0; i < text->nlayers; i++)
        HR_TRY(cut_layer(at, i, &text->layers[i], &at));
    return HR_OK;
}

static enum hr_status allocate(const char *list, struct hr_model_text *text)
{
    const size_t bytes = 2 * strlen(list) + 1;
    text->list = malloc(bytes);
    text->cut = malloc(bytes);
    if (!text->list || !text->cut)
        return hr_fail(HR_E_NOMEM, "no memory for the text of a model");
    text->nlayers = normalise(list, text->list);
    if (text->nlayers > HR_MODEL_MAX_LAYERS)
        return hr_fail(HR_E_USAGE, "model: %zu layers, expected at most %d", text->nlayers,
                       HR_MODEL_MAX_LAYERS);
    strcpy(text->cut, text->list);
    text->layers = calloc(text->nlayers, sizeof *text->layers);
    if (!text->layers)
        return hr_fail(HR_E_NOMEM, "no memory for the text of a model");
    return HR_OK;
}

enum hr_status hr_model_text_parse(const char *description, struct hr_model_text *out)
{
    *out = (struct hr_model_text){0};
    if (strlen(description) > HR_MODEL_MAX_TEXT)
        return hr_fail(HR_E_USAGE, "model: the text has %zu characters, expected at most %d",
                       strlen(description), HR_MODEL_MAX_TEXT);
    enum hr_status status;
    HR_TRY_GOTO(allocate(expand(description), out), status, out);
    HR_TRY_GOTO(cut_layers(out), status, out);
out:
    if (status != HR_OK)
        hr_model_text_fini(out);
    return status;
}

void hr_model_text_fini(struct hr_model_text *text)
{
    free(text->list);
    free(text->cut);
    free(text->layers);
    *text = (struct hr_model_text){0};
}

const char *hr_layer_text_join(const struct hr_layer_text *layer, char *buffer, size_t size)
{
    size_t used = 0;
    buffer[0] = '\0';
    for (size_t w = 0; w < layer->nwords && used < size; w++)
        used += (size_t)snprintf(buffer + used, size - used, "%s%s", w ? " " : "", layer->words[w]);
    return buffer;
}

enum { LONGEST_NAME = 16 };

/* Letters to insert, drop or change to make b of a (Levenshtein), one row of the table at a time.
 * Both are at most LONGEST_NAME long. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t row[LONGEST_NAME + 1];
    for (size_t j = 0; j <= strlen(b); j++)
        row[j] = j;
    for (size_t i = 0; a[i]; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; b[j]; j++) {
            const size_t change = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = hr_min_size(change, hr_min_size(row[j], row[j + 1]) + 1);
        }
    }
    return row[strlen(b)];
}

const char *hr_closest_word(const char *word, const char *const *choices)
{
    enum { TOO_FAR = 3 };
    size_t best = TOO_FAR;
    const char *closest = NULL;
    if (strlen(word) > LONGEST_NAME)
        return NULL;
    for (; *choices; choices++) {
        const size_t distance = edit_distance(word, *choices);
        if (distance < best && distance < strlen(*choices)) {
            best = distance;
            closest = *choices;
        }
    }
    return closest;
}
