#include "nn/model_text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"

/* --- built-in models --- */

/* Two convolutions, each normalised and rectified, then half the size. */
#define VGG_BLOCK(C)                                                                               \
    "conv " C " 3x3 pad 1, batchnorm, relu, conv " C " 3x3 pad 1, batchnorm, relu, maxpool 2, "
/* The body of a residual block whose first convolution may have a stride. */
#define RESNET_BODY(C, STRIDE)                                                                     \
    "residual (conv " C " 3x3" STRIDE " pad 1, batchnorm, relu, conv " C " 3x3 pad 1, batchnorm)"
#define RESNET_HALVE(C)                                                                            \
    RESNET_BODY(C, " stride 2") " shortcut (conv " C " 1x1 stride 2, batchnorm), relu, "

/* As GPT-2 has them, N blocks of width D with H heads. */
#define GPT(N, D, H, INSIDE)                                                                       \
    "embedding " D ", position, repeat " N " (residual (layernorm, attention " H                   \
    "), residual (layernorm, dense " INSIDE ", gelu, dense " D ")), layernorm, tied"

/* Names, and lists; to one that ends in a comma "dense " and the number of classes are added. */
static const char *const builtin_names[] = {
    "softmax", "mlp", "cnn", "lenet", "vgg-small", "resnet8", "gpt-nano", "gpt-micro", NULL};
static const char *const builtin_lists[] = {
    "flatten, ",
    "flatten, dense 256, relu, dense 128, relu, ",
    "conv 32 3x3 pad 1, relu, maxpool 2, conv 64 3x3 pad 1, relu, maxpool 2, "
    "flatten, dense 128, relu, ",
    "conv 6 5x5 pad 2, relu, maxpool 2, conv 16 5x5, relu, maxpool 2, "
    "flatten, dense 120, relu, dense 84, relu, ",
    VGG_BLOCK("32") VGG_BLOCK("64") VGG_BLOCK("128") "flatten, dropout 0.5, dense 128, relu, ",
    "conv 16 3x3 pad 1, batchnorm, relu, " RESNET_BODY("16", "") ", relu, " RESNET_HALVE("32")
        RESNET_HALVE("64") "globalavgpool, flatten, ",
    GPT("2", "64", "4", "256"),
    GPT("6", "384", "6", "1536"),
};

const char *const *hr_model_builtins(void)
{
    return builtin_names;
}

/* The list that a built-in's name stands for; any other text is itself.
 *   buffer (HR_MODEL_MAX_TEXT + 1)  for the former */
static const char *expand(const char *description, size_t classes, char *buffer)
{
    const char *begin = description + strspn(description, " \t\r\n");
    const size_t length = strcspn(begin, " \t\r\n");
    if (begin[length + strspn(begin + length, " \t\r\n")] != '\0')
        return description;
    for (size_t i = 0; builtin_names[i]; i++)
        if (strlen(builtin_names[i]) == length && !strncmp(begin, builtin_names[i], length)) {
            const char *list = builtin_lists[i];
            const bool goes_on = list[strlen(list) - 1] == ' ';
            snprintf(buffer, HR_MODEL_MAX_TEXT + 1, goes_on ? "%sdense %zu" : "%s", list, classes);
            return buffer;
        }
    return description;
}

bool hr_model_text_reads_tokens(const char *description)
{
    char buffer[HR_MODEL_MAX_TEXT + 1];
    const char *text = expand(description, 2, buffer);
    return !strncmp(text + strspn(text, " \t\r\n"), "embedding", 9);
}

/* --- repeat N ( list ): the list, N times --- */

/* The next word "repeat"; NULL: there is none. */
static const char *find_repeat(const char *text)
{
    static const char word[] = "repeat";
    const size_t length = sizeof word - 1;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += length)
        if ((at == text || strchr(",( \t\r\n", at[-1])) && at[length] &&
            strchr("( \t\r\n", at[length]))
            return at;
    return NULL;
}

/* The ")" of the "(" at `open`; NULL: there is none. */
static const char *end_of_block(const char *open)
{
    size_t depth = 0;
    for (const char *at = open; *at; at++) {
        depth += *at == '(';
        if (*at == ')' && --depth == 0)
            return at;
    }
    return NULL;
}

/* Write the first of them out. room: of `out`, with its end. */
static enum hr_status unfold(const char *text, const char *repeat, char *out, size_t room)
{
    size_t times = 0, used = 0;
    int number = 0, open = 0;
    const bool counted = sscanf(repeat, "repeat %n%zu %n", &number, &times, &open) == 1 && open;
    const char *end = counted && repeat[open] == '(' ? end_of_block(repeat + open) : NULL;
    if (!end || repeat[number] == '-' || times < 1 || times > HR_MODEL_MAX_LAYERS)
        return hr_fail(HR_E_USAGE,
                       "model: at \"%.40s\": expected a number from 1 to %d and layers, as in "
                       "\"repeat 4 (dense 64, relu)\"",
                       repeat, HR_MODEL_MAX_LAYERS);
    used += (size_t)snprintf(out, room, "%.*s", (int)(repeat - text), text);
    for (size_t i = 0; i < times && used < room; i++)
        used += (size_t)snprintf(out + used, room - used, "%s%.*s", i ? ", " : "",
                                 (int)(end - repeat - open - 1), repeat + open + 1);
    if (used < room)
        used += (size_t)snprintf(out + used, room - used, "%s", end + 1);
    return used < room
               ? HR_OK
               : hr_fail(HR_E_USAGE, "model: with its repeats the text has more than %d characters",
                         HR_MODEL_MAX_TEXT);
}

/* *text: its repeats written out, in one of two buffers (HR_MODEL_MAX_TEXT + 1) in turn; blocks in
 * blocks follow. */
static enum hr_status unfold_all(const char **text, char buffers[2][HR_MODEL_MAX_TEXT + 1])
{
    const char *repeat;
    for (size_t turn = 0; (repeat = find_repeat(*text)) != NULL; turn ^= 1) {
        HR_TRY(unfold(*text, repeat, buffers[turn], HR_MODEL_MAX_TEXT + 1));
        *text = buffers[turn];
    }
    return HR_OK;
}

/* --- the parser: one function a rule of the grammar --- */

struct parser {
    const char *text, *at; /* all of it; the next letter */
    struct hr_model_text *out;
    char *list, *cut; /* ends of what was written */
    size_t depth;
};

static void write_list(struct parser *parser, const char *text)
{
    const size_t length = strlen(text);
    memcpy(parser->list, text, length + 1);
    parser->list += length;
}

static void skip_blanks(struct parser *parser)
{
    while (isspace((unsigned char)*parser->at))
        parser->at++;
}

/* Part of the text around the spot `at`, which ">>>" points to, as one printable line. */
static const char *quote(const struct parser *parser, char *buffer, size_t size)
{
    enum { AROUND = 24 };
    const size_t at = (size_t)(parser->at - parser->text), left = hr_min_size(at, AROUND);
    const size_t right = hr_min_size(strlen(parser->at), AROUND);
    snprintf(buffer, size, "%s%.*s>>> %.*s%s", left < at ? "..." : "", (int)left, parser->at - left,
             (int)right, parser->at, parser->at[right] ? "..." : "");
    for (char *c = buffer; *c; c++)
        if (iscntrl((unsigned char)*c))
            *c = isspace((unsigned char)*c) ? ' ' : '?';
    return buffer;
}

static enum hr_status fail_here(const struct parser *parser, const char *what)
{
    char spot[80];
    return hr_fail(HR_E_USAGE, "model: at \"%s\": %s", quote(parser, spot, sizeof spot), what);
}

static bool is_word_end(char c)
{
    return c == '\0' || strchr(",()", c) || isspace((unsigned char)c);
}

/* Does this word come next? Then step over it. */
static bool take_keyword(struct parser *parser, const char *word)
{
    const size_t length = strlen(word);
    if (strncmp(parser->at, word, length) != 0 || !is_word_end(parser->at[length]))
        return false;
    parser->at += length;
    skip_blanks(parser);
    return true;
}

/* The next word, copied to `cut`. Control characters become '?', so that messages are one line. */
static const char *take_word(struct parser *parser)
{
    const char *word = parser->cut;
    for (; !is_word_end(*parser->at); parser->at++)
        *parser->cut++ = iscntrl((unsigned char)*parser->at) ? '?' : *parser->at;
    *parser->cut++ = '\0';
    skip_blanks(parser);
    return word;
}

static enum hr_status new_layer(struct parser *parser, const char *path, size_t from,
                                struct hr_layer_text **out)
{
    struct hr_model_text *text = parser->out;
    if (text->nlayers == HR_MODEL_MAX_LAYERS)
        return hr_fail(HR_E_USAGE, "model: layer %s: expected at most %d layers", path,
                       HR_MODEL_MAX_LAYERS);
    *out = &text->layers[text->nlayers++];
    **out = (struct hr_layer_text){.nfrom = 1, .from = {from}};
    snprintf((*out)->path, sizeof(*out)->path, "%s", path);
    return HR_OK;
}

static enum hr_status parse_plain(struct parser *parser, const char *path, size_t from)
{
    struct hr_layer_text *layer = NULL;
    HR_TRY(new_layer(parser, path, from, &layer));
    while (!is_word_end(*parser->at)) {
        if (layer->nwords == HR_LAYER_MAX_WORDS)
            return hr_fail(HR_E_USAGE, "model: layer %s \"%.40s\": more than %d words", path,
                           layer->words[0], HR_LAYER_MAX_WORDS);
        const char *word = take_word(parser);
        if (layer->nwords)
            write_list(parser, " ");
        write_list(parser, word);
        layer->words[layer->nwords++] = word;
    }
    return HR_OK;
}

static enum hr_status parse_list(struct parser *parser, const char *prefix, size_t from);

/* "(" list ")" */
static enum hr_status parse_branch(struct parser *parser, const char *path, const char *name,
                                   size_t from)
{
    char prefix[64];
    snprintf(prefix, sizeof prefix, "%s.%s.", path, name);
    if (*parser->at != '(')
        return fail_here(parser, "expected \"(\" and the layers of the block");
    parser->at++;
    write_list(parser, " (");
    HR_TRY(parse_list(parser, prefix, from));
    if (*parser->at != ')')
        return fail_here(parser, "expected \")\", the end of the block");
    parser->at++;
    skip_blanks(parser);
    write_list(parser, ")");
    return HR_OK;
}

static enum hr_status parse_block(struct parser *parser, const char *path, size_t from)
{
    struct hr_layer_text *layer = NULL;
    size_t shortcut = from;
    if (parser->depth == HR_MODEL_MAX_DEPTH)
        return fail_here(parser, "blocks stand in blocks, expected at most 4 deep");
    parser->depth++;
    write_list(parser, "residual");
    HR_TRY(parse_branch(parser, path, "body", from));
    const size_t body = parser->out->nlayers - 1;
    if (take_keyword(parser, "shortcut")) {
        write_list(parser, " shortcut");
        HR_TRY(parse_branch(parser, path, "shortcut", from));
        shortcut = parser->out->nlayers - 1;
    }
    HR_TRY(new_layer(parser, path, body, &layer));
    layer->nwords = 1;
    layer->words[0] = "residual";
    layer->nfrom = 2;
    layer->from[1] = shortcut;
    parser->depth--;
    return HR_OK;
}

static enum hr_status parse_layer(struct parser *parser, const char *path, size_t from)
{
    skip_blanks(parser);
    if (is_word_end(*parser->at)) {
        char spot[80];
        return hr_fail(HR_E_USAGE, "model: layer %s is empty: expected a layer at \"%s\"", path,
                       quote(parser, spot, sizeof spot));
    }
    if (take_keyword(parser, "residual"))
        return parse_block(parser, path, from);
    if (take_keyword(parser, "shortcut"))
        return fail_here(parser, "a shortcut stands right behind \"residual (...)\"");
    return parse_plain(parser, path, from);
}

static enum hr_status parse_list(struct parser *parser, const char *prefix, size_t from)
{
    for (size_t i = 0;; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s%zu", prefix, i);
        HR_TRY(parse_layer(parser, path, from));
        from = parser->out->nlayers - 1;
        if (*parser->at != ',')
            return HR_OK;
        parser->at++;
        write_list(parser, ", ");
    }
}

static enum hr_status parse_all(struct parser *parser)
{
    HR_TRY(parse_list(parser, "", HR_FROM_INPUT));
    if (*parser->at == ')')
        return fail_here(parser, "a \")\" without its \"(\"");
    if (*parser->at)
        return fail_here(parser, "expected \",\" before the next layer; only \"residual\" and "
                                 "\"shortcut\" take \"(\"");
    return HR_OK;
}

/* The text written is at most three times as long as the text read: ")," becomes "), ", and a word
 * of one letter gets an end or a blank. */
static enum hr_status allocate(size_t length, struct hr_model_text *text)
{
    text->list = calloc(3, length + 1);
    text->cut = calloc(3, length + 1);
    text->layers = calloc(HR_MODEL_MAX_LAYERS, sizeof *text->layers);
    if (!text->list || !text->cut || !text->layers)
        return hr_fail(HR_E_NOMEM, "no memory for the text of a model");
    return HR_OK;
}

enum hr_status hr_model_text_parse(const char *description, size_t classes,
                                   struct hr_model_text *out)
{
    char builtin[HR_MODEL_MAX_TEXT + 1], unfolded[2][HR_MODEL_MAX_TEXT + 1];
    const char *text = expand(description, classes, builtin);
    enum hr_status status;
    *out = (struct hr_model_text){0};
    if (strlen(text) <= HR_MODEL_MAX_TEXT)
        HR_TRY(unfold_all(&text, unfolded));
    if (strlen(text) > HR_MODEL_MAX_TEXT)
        return hr_fail(HR_E_USAGE, "model: the text has %zu characters, expected at most %d",
                       strlen(text), HR_MODEL_MAX_TEXT);
    HR_TRY_GOTO(allocate(strlen(text), out), status, out);
    struct parser parser = {text, text, out, out->list, out->cut, 0};
    HR_TRY_GOTO(parse_all(&parser), status, out);
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

/* Levenshtein distance, one row of the table at a time. Both are at most LONGEST_NAME long. */
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
