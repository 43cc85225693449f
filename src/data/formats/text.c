/* Text: files that a language model learns to go on with (data/tokens.h), or the tokens that were
 * made of one (formats/token_file.h). What is held out for the test is the end of it: windows drawn
 * from all over would be what was trained on, but for a few tokens. Of lists of lines (lines) the
 * lines are shuffled first, always alike: the end of an alphabet is another language.
 *
 * Tokens that lie in a file as they are wanted, bytes of a text or those of a token file, are taken
 * where they lie: mapped, where the file is large and no other file stands beside it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/parse.h"
#include "base/size.h"
#include "data/order.h"
#include "formats/formats.h"
#include "formats/text_folder.h"
#include "formats/token_file.h"

enum { MAPPED_BYTES = 64 << 20 }; /* of a file from which on */

static const uint64_t shuffling = UINT64_MAX - 2; /* an epoch that nobody else draws */

static bool matches(const struct hr_probe *probe)
{
    if (probe->folder)
        return hr_text_folder_is(probe->path);
    return hr_path_ends_in(probe->path, ".txt") || hr_path_ends_in(probe->path, ".txt.gz") ||
           hr_token_file_is(probe->path, probe->head, probe->bytes);
}

/* --- what a path holds --- */

struct content {
    const char *path;
    const char *data; /* (bytes) in memory, or mapped */
    size_t bytes;
    struct hr_array owned;
    void *map;
    bool coded; /* it is tokens; else text */
    struct hr_token_view view;
    struct hr_vocabulary vocabulary; /* of tokens */
    char note[HR_DATA_NOTE];
};

/* Its memory. */
static void leave(struct content *c)
{
    free(c->owned.data);
    if (c->map)
        munmap(c->map, c->bytes);
    c->owned = (struct hr_array){0};
    c->map = NULL;
}

static void free_content(struct content *c)
{
    leave(c);
    hr_vocabulary_free(&c->vocabulary);
}

/* Where each line begins, and behind them all the end. */
static enum hr_status find_lines(const struct content *c, struct hr_array *at)
{
    for (size_t i = 0; i < c->bytes; i++)
        if (!i || c->data[i - 1] == '\n')
            HR_TRY(hr_array_add(at, c->path, &i, sizeof i));
    return hr_array_add(at, c->path, &c->bytes, sizeof c->bytes);
}

/* at (n + 1) */
static enum hr_status add_shuffled(const struct content *c, const size_t *at, size_t n,
                                   struct hr_array *out)
{
    const struct hr_sampler sampler = hr_sampler_of(0, shuffling, n);
    for (size_t i = 0; i < n; i++) {
        uint32_t line;
        hr_sampler_fill(&sampler, i, 1, &line);
        const size_t bytes = at[line + 1] - at[line];
        HR_TRY(hr_array_add(out, c->path, c->data + at[line], bytes));
        if (c->data[at[line + 1] - 1] != '\n')
            HR_TRY(hr_array_add(out, c->path, "\n", 1));
    }
    return HR_OK;
}

/* Each with a line end. */
static enum hr_status shuffle_lines(struct content *c)
{
    struct hr_array lines = {0}, shuffled = {0};
    enum hr_status status = find_lines(c, &lines);
    const size_t n = lines.bytes / sizeof(size_t) - 1;
    if (status == HR_OK && n >= HR_TABLE_MAX_COUNT)
        status = hr_fail(HR_E_FORMAT, "%s: has %zu lines, expected fewer than %zu to shuffle",
                         c->path, n, HR_TABLE_MAX_COUNT);
    if (status == HR_OK)
        status = add_shuffled(c, lines.data, n, &shuffled);
    free(lines.data);
    leave(c);
    c->owned = shuffled;
    c->data = shuffled.data;
    c->bytes = shuffled.bytes;
    return status;
}

/* A large file that is not gzip; else c->map stays NULL. */
static enum hr_status map_file(struct content *c)
{
    uint8_t head[2];
    int fd;
    size_t bytes;
    HR_TRY(hr_file_open(c->path, &fd, &bytes));
    enum hr_status status = HR_OK;
    if (bytes >= MAPPED_BYTES)
        status = hr_file_read_at(fd, c->path, 0, head, sizeof head);
    if (status == HR_OK && bytes >= MAPPED_BYTES && !(head[0] == 0x1f && head[1] == 0x8b))
        status = hr_file_map(fd, c->path, bytes, &c->map);
    close(fd);
    c->bytes = bytes;
    return status;
}

static enum hr_status read_bytes(struct content *c)
{
    struct stat info;
    if (!stat(c->path, &info) && S_ISDIR(info.st_mode)) {
        HR_TRY(hr_text_folder_read(c->path, &c->owned, c->note));
    } else {
        char head[sizeof(uint64_t)];
        size_t got;
        HR_TRY(hr_bytes_peek_file(c->path, head, sizeof head, &got));
        c->coded = hr_token_file_is(c->path, head, got);
        HR_TRY(map_file(c));
        if (!c->map)
            HR_TRY(hr_bytes_read_file(c->path, &c->owned));
    }
    c->data = c->map ? c->map : c->owned.data;
    c->bytes = c->map ? c->bytes : c->owned.bytes;
    return c->bytes ? HR_OK : hr_fail(HR_E_FORMAT, "%s: is empty, expected text", c->path);
}

/* free_content, whatever the outcome. */
static enum hr_status get_content(const struct hr_data_options *options, const char *path,
                                  struct content *c)
{
    struct hr_data_options defaults;
    *c = (struct content){.path = path};
    HR_TRY(read_bytes(c));
    if (!c->coded)
        return options->lines ? shuffle_lines(c) : HR_OK;
    hr_data_defaults(&defaults);
    const bool chars = strcmp(options->vocabulary, defaults.vocabulary) != 0;
    if (!options->recipe && (options->lines || chars))
        return hr_fail(HR_E_USAGE, "--%s: is of text, and %s holds tokens that were made of it",
                       options->lines ? "text lines" : "text vocabulary", path);
    HR_TRY(hr_token_file_parse(path, c->data, c->bytes, &c->view));
    return hr_token_file_meaning(path, c->view.count, &c->vocabulary);
}

/* --- reading --- */

struct text {
    const char *name;
    const struct hr_data_options *options;
    struct hr_vocabulary vocabulary;
    struct hr_storage *storage;
    const char *ids; /* (tokens, width) in the storage's memory */
    size_t width, tokens;
    bool coded;             /* the first file had them */
    struct hr_array joined; /* tokens of all files, where there are several or they are made here */
    struct part {
        size_t first, end; /* tokens */
    } train, test, validation;
};

/* Of a file's tokens, at data. */
static uint32_t token_at(const char *data, size_t width, size_t i)
{
    uint32_t token = 0;
    memcpy(&token, data + i * width, width); /* of a machine that is little-endian */
    return token;
}

/* Their largest, as far as the first that is not less than `end`; its place. */
static uint32_t largest_token(const struct content *c, uint32_t end, size_t *place)
{
    const char *data = c->data + c->view.begin;
    const size_t width = c->view.width;
    uint32_t largest = 0;
    for (*place = 0; *place < c->view.count; ++*place) {
        const uint32_t token = token_at(data, width, *place);
        largest = token > largest ? token : largest;
        if (token >= end)
            break;
    }
    return largest;
}

static bool same_points(const struct hr_vocabulary *a, const struct hr_vocabulary *b)
{
    return a->kind != HR_VOCABULARY_CHARS ||
           (a->count == b->count && !memcmp(a->points, b->points, a->count * sizeof *a->points));
}

/* Are all tokens of a file those of the vocabulary? One of numbers without a count gets it. */
static enum hr_status check_tokens(struct text *t, const struct content *c)
{
    struct hr_vocabulary *v = &t->vocabulary;
    const uint32_t end = v->count ? (uint32_t)v->count : HR_MAX_CLASSES;
    size_t place = c->view.count;
    const char *whose = t->options->recipe ? "the model" : t->name;
    if (v->kind != c->vocabulary.kind)
        return hr_fail(HR_E_FORMAT, "%s: its tokens are %s, expected %s, as those of %s", c->path,
                       hr_vocabulary_name(c->vocabulary.kind), hr_vocabulary_name(v->kind), whose);
    if (!same_points(v, &c->vocabulary))
        return hr_fail(HR_E_FORMAT,
                       "%s: its tokens are other characters than those of %s, expected the text "
                       "itself, or packed with the same ones",
                       c->path, whose);
    const bool all = c->view.width == 1 && end > UINT8_MAX && v->count;
    const uint32_t largest = all ? 0 : largest_token(c, end, &place);
    if (place < c->view.count)
        return hr_fail(HR_E_FORMAT, "%s: token %zu, from 0, is %u, expected less than %u%s",
                       c->path, place, largest, end,
                       t->options->recipe ? ", as the model knows them"
                       : v->kind == HR_VOCABULARY_NUMBERS && c->path != t->name
                           ? ", those of the training text (--classes N: how many there may be)"
                           : "");
    if (!v->count)
        v->count = largest + (size_t)1;
    return HR_OK;
}

/* Of numbers: how many there may be, where that is said. */
static enum hr_status resolve_count(const struct hr_data_options *options, struct hr_vocabulary *v)
{
    uint64_t count;
    if (!options->classes[0])
        return HR_OK;
    if (v->kind != HR_VOCABULARY_NUMBERS)
        return hr_fail(HR_E_USAGE, "--classes: is not supported for text, whose tokens are %s",
                       hr_vocabulary_name(v->kind));
    if (!hr_parse_count(options->classes, &count) || count < 1 || count > HR_MAX_CLASSES)
        return hr_fail(HR_E_USAGE, "--classes %s: expected how many tokens there may be, 1 to %d",
                       options->classes, HR_MAX_CLASSES);
    v->count = count;
    return HR_OK;
}

static enum hr_status copy_vocabulary(const struct hr_vocabulary *from, struct hr_vocabulary *out)
{
    const size_t bytes = from->points ? from->count * sizeof *from->points : 0;
    *out = *from;
    out->points = NULL;
    if (!bytes)
        return HR_OK;
    out->points = malloc(bytes);
    if (!out->points)
        return hr_fail(HR_E_NOMEM, "no memory for %zu characters", from->count);
    memcpy(out->points, from->points, bytes);
    return HR_OK;
}

static enum hr_status resolve_vocabulary(struct text *t, struct content *c)
{
    enum hr_vocabulary_kind kind = HR_VOCABULARY_BYTES;
    t->coded = c->coded;
    if (t->options->recipe)
        return hr_vocabulary_read(t->options->recipe, &t->vocabulary);
    if (c->coded)
        HR_TRY(copy_vocabulary(&c->vocabulary, &t->vocabulary));
    else if (t->options->vocabulary[0])
        HR_TRY(hr_vocabulary_parse(t->options->vocabulary, &kind));
    if (!c->coded)
        t->vocabulary = (struct hr_vocabulary){.kind = kind, .count = 256};
    HR_TRY(resolve_count(t->options, &t->vocabulary));
    if (c->coded || kind != HR_VOCABULARY_CHARS)
        return HR_OK;
    const struct hr_array all = {.data = (void *)(uintptr_t)c->data, .bytes = c->bytes};
    return hr_vocabulary_of_text(t->name, &all, &t->vocabulary);
}

/* Has the first file all tokens there are, as they lie? */
static bool lies_ready(const struct text *t, const struct content *c)
{
    const bool alone = !t->options->test_data[0] && !t->options->validation_data[0];
    return alone && c->view.width && (uintptr_t)(c->data + c->view.begin) % c->view.width == 0;
}

/* The storage owns what it held. */
static void adopt(struct text *t, struct content *c)
{
    t->ids = c->data + c->view.begin;
    t->width = c->view.width;
    t->tokens = c->view.count;
    t->storage->map = c->map;
    t->storage->map_bytes = c->map ? c->bytes : 0;
    t->storage->text = c->owned.data;
    c->owned = (struct hr_array){0};
    c->map = NULL;
}

static enum hr_status join(struct text *t, const struct content *c)
{
    const char *data = c->data + c->view.begin;
    if (!c->coded)
        return hr_vocabulary_encode(&t->vocabulary, c->path, c->data, c->bytes, &t->joined);
    if (c->view.width == t->width)
        return hr_array_add(&t->joined, c->path, data, c->view.count * t->width);
    for (size_t i = 0; i < c->view.count; i++) {
        const uint32_t token = token_at(data, c->view.width, i);
        HR_TRY(hr_array_add(&t->joined, c->path, &token, t->width));
    }
    return HR_OK;
}

static enum hr_status add_tokens(struct text *t, struct content *c, struct part *part)
{
    part->first = t->tokens;
    if (c->coded)
        HR_TRY(check_tokens(t, c));
    else if (t->vocabulary.kind == HR_VOCABULARY_BYTES)
        c->view = (struct hr_token_view){0, c->bytes, 1};
    t->width = hr_vocabulary_width(&t->vocabulary);
    if (part == &t->train && lies_ready(t, c)) {
        adopt(t, c);
    } else {
        const enum hr_status status = join(t, c);
        t->storage->text = t->joined.data;
        HR_TRY(status);
        t->ids = t->joined.data;
        t->tokens = t->joined.bytes / t->width;
    }
    part->end = t->tokens;
    return HR_OK;
}

/* A file of its own; nothing where none is named. */
static enum hr_status add_file(struct text *t, const char *path, struct part *part,
                               struct hr_table *table)
{
    struct content c;
    if (!path[0])
        return HR_OK;
    enum hr_status status = get_content(t->options, path, &c);
    if (status == HR_OK && part == &t->train)
        status = resolve_vocabulary(t, &c);
    if (status == HR_OK)
        status = add_tokens(t, &c, part);
    memcpy(table->note, c.note, sizeof table->note);
    free_content(&c);
    return status;
}

static enum hr_status read_files(struct text *t)
{
    struct hr_storage *s = t->storage;
    HR_TRY(add_file(t, t->name, &t->train, &s->train));
    HR_TRY(add_file(t, t->options->test_data, &t->test, &s->test));
    return add_file(t, t->options->validation_data, &t->validation, &s->validation);
}

/* --- splits --- */

static void hold_out(struct text *t)
{
    const size_t n = t->train.end;
    t->train.end = n - (size_t)(t->options->test_fraction * (double)n + 0.5);
    t->test = (struct part){t->train.end, n};
}

/* Only so many of them are measured on. */
static void cap_part(const struct text *t, struct part *part)
{
    part->end = hr_min_size(part->end, part->first + hr_tokens_measured(t->options));
}

static enum hr_status make_table(const struct text *t, const struct part *part, const char *what,
                                 struct hr_table *out)
{
    const struct hr_tokens *tokens = &t->storage->tokens;
    const struct hr_split split = hr_tokens_split(tokens, part->first, part->end);
    out->features = HR_FEATURES_TOKENS;
    out->shape = (struct hr_shape){1, 1, tokens->context};
    out->count = split.count;
    out->first = part->first;
    out->end = part->end;
    if (split.count)
        return HR_OK;
    return hr_fail(HR_E_FORMAT,
                   "%s: has %zu %stokens, expected at least %zu: one more than --text context=%zu",
                   t->name, part->end - part->first, what, tokens->context + 1, tokens->context);
}

static enum hr_status fill_storage(struct text *t)
{
    struct hr_storage *storage = t->storage;
    struct hr_tokens *tokens = &storage->tokens;
    if (t->tokens > UINT32_MAX)
        return hr_fail(HR_E_FORMAT, "%s: has %zu tokens, expected fewer than 2^32 (4 GiB of bytes)",
                       t->name, t->tokens);
    *tokens = (struct hr_tokens){
        .context = t->options->context, .width = t->width, .ids = t->ids, .count = t->tokens};
    if (!t->test.end && t->options->test_all)
        t->test = t->train;
    else if (!t->test.end)
        hold_out(t);
    cap_part(t, &t->test);
    cap_part(t, &t->validation);
    HR_TRY(make_table(t, &t->train, "training ", &storage->train));
    HR_TRY(make_table(t, &t->test, "test ", &storage->test));
    if (t->validation.end)
        HR_TRY(make_table(t, &t->validation, "validation ", &storage->validation));
    storage->classes = t->vocabulary.count;
    storage->scale = 1;
    HR_TRY(hr_vocabulary_bytes(&t->vocabulary, &storage->token_bytes));
    tokens->bytes = storage->token_bytes;
    return hr_vocabulary_write(&t->vocabulary, &storage->recipe);
}

static enum hr_status open_text(const char *path, const struct hr_data_options *options,
                                struct hr_storage *storage)
{
    struct text t = {.name = path, .options = options, .storage = storage};
    if (options->context < 1 || options->context > HR_MAX_CONTEXT)
        return hr_fail(HR_E_USAGE, "--text context=%zu: expected 1 to %d", options->context,
                       HR_MAX_CONTEXT);
    if (!options->eval_tokens)
        return hr_fail(HR_E_USAGE, "--text eval-tokens=0: expected at least 1");
    enum hr_status status = read_files(&t);
    if (status == HR_OK)
        status = fill_storage(&t);
    hr_vocabulary_free(&t.vocabulary);
    return status;
}

/* --- packing --- */

enum hr_status hr_text_pack(const char *path, const struct hr_data_options *options,
                            const char *out, struct hr_text_packed *packed)
{
    struct hr_storage storage = {0};
    struct text t = {.name = path, .options = options, .storage = &storage};
    enum hr_status status = add_file(&t, path, &t.train, &storage.train);
    if (status == HR_OK && t.coded)
        status = hr_fail(HR_E_USAGE, "%s: holds tokens, expected text to make them of", path);
    if (status == HR_OK)
        status = hr_token_file_write(out, t.ids, t.tokens, &t.vocabulary);
    *packed = (struct hr_text_packed){t.tokens, t.vocabulary.count};
    hr_vocabulary_free(&t.vocabulary);
    hr_storage_free(&storage);
    return status;
}

const struct hr_format hr_format_text = {
    .name = "text",
    .options = HR_OPTION_TEST_DATA | HR_OPTION_TEST_FRACTION | HR_OPTION_VALIDATION_DATA |
               HR_OPTION_TOKENS,
    .matches = matches,
    .open = open_text,
};
