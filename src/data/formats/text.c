/* Text: one file that a language model learns to go on with (data/tokens.h). What is held out for
 * the test is the end of it: windows drawn from all over would be what was trained on, but for a
 * few tokens. Of lists of lines (--lines) the lines are shuffled first, always alike: the end of an
 * alphabet is another language.
 *
 * Bytes of a file that is not packed stay where they are: mapped. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/path.h"
#include "data/sampler.h"
#include "data/tokens.h"
#include "formats/formats.h"

static const uint64_t shuffling = UINT64_MAX - 2; /* an epoch that nobody else draws */

static bool matches(const struct hr_probe *probe)
{
    return !probe->folder && hr_path_ends_in(probe->path, ".txt");
}

/* --- reading --- */

struct text {
    const char *name;
    const struct hr_data_options *options;
    struct hr_vocabulary vocabulary;
    struct hr_array ids;
    struct part {
        size_t first, end; /* tokens */
        size_t bytes;
    } train, test, validation;
};

/* Where each line begins, and behind them all the end. */
static enum hr_status find_lines(const char *name, const struct hr_array *text, struct hr_array *at)
{
    const char *begin = text->data;
    for (size_t i = 0; i < text->bytes; i++)
        if (!i || begin[i - 1] == '\n')
            HR_TRY(hr_array_add(at, name, &i, sizeof i));
    return hr_array_add(at, name, &text->bytes, sizeof text->bytes);
}

/* Each with a line end. */
static enum hr_status shuffle_lines(const char *name, struct hr_array *text)
{
    struct hr_array lines = {0}, shuffled = {0};
    enum hr_status status = find_lines(name, text, &lines);
    const size_t *at = lines.data, n = lines.bytes / sizeof *at;
    if (status == HR_OK && n > HR_TABLE_MAX_COUNT)
        status = hr_fail(HR_E_FORMAT, "%s: has too many lines to shuffle, %zu", name, n - 1);
    if (status == HR_OK && n > 1) {
        const struct hr_sampler sampler = hr_sampler_of(0, shuffling, n - 1);
        for (size_t i = 0; status == HR_OK && i + 1 < n; i++) {
            uint32_t line;
            hr_sampler_fill(&sampler, i, 1, &line);
            const char *from = (const char *)text->data + at[line];
            const size_t bytes = at[line + 1] - at[line];
            status = hr_array_add(&shuffled, name, from, bytes);
            if (status == HR_OK && from[bytes - 1] != '\n')
                status = hr_array_add(&shuffled, name, "\n", 1);
        }
        free(text->data);
        *text = shuffled;
    }
    free(lines.data);
    return status;
}

static enum hr_status read_text(const struct text *t, const char *path, struct hr_array *out)
{
    HR_TRY(hr_bytes_read_file(path, out));
    if (!out->bytes)
        return hr_fail(HR_E_FORMAT, "%s: is empty, expected text", path);
    return t->options->lines ? shuffle_lines(path, out) : HR_OK;
}

static enum hr_status add_tokens(struct text *t, const char *name, const struct hr_array *text,
                                 struct part *part)
{
    const size_t width = hr_vocabulary_width(&t->vocabulary);
    part->first = t->ids.bytes / width;
    HR_TRY(hr_vocabulary_encode(&t->vocabulary, name, text->data, text->bytes, &t->ids));
    part->end = t->ids.bytes / width;
    part->bytes = text->bytes;
    return HR_OK;
}

/* A file of its own; nothing where none is named. */
static enum hr_status add_file(struct text *t, const char *path, struct part *part)
{
    struct hr_array text = {0};
    if (!path[0])
        return HR_OK;
    enum hr_status status = read_text(t, path, &text);
    if (status == HR_OK)
        status = add_tokens(t, path, &text, part);
    free(text.data);
    return status;
}

static enum hr_status settle_vocabulary(struct text *t, const struct hr_array *text)
{
    enum hr_vocabulary_kind kind = HR_VOCABULARY_BYTES;
    if (t->options->recipe)
        return hr_vocabulary_read(t->options->recipe, &t->vocabulary);
    if (t->options->vocabulary[0])
        HR_TRY(hr_vocabulary_parse(t->options->vocabulary, &kind));
    t->vocabulary = (struct hr_vocabulary){.kind = kind, .count = 256};
    return kind == HR_VOCABULARY_CHARS ? hr_vocabulary_of_text(t->name, text, &t->vocabulary)
                                       : HR_OK;
}

static enum hr_status read_files(struct text *t)
{
    struct hr_array text = {0};
    enum hr_status status = read_text(t, t->name, &text);
    if (status == HR_OK)
        status = settle_vocabulary(t, &text);
    if (status == HR_OK)
        status = add_tokens(t, t->name, &text, &t->train);
    free(text.data);
    if (status == HR_OK)
        status = add_file(t, t->options->test_data, &t->test);
    if (status == HR_OK)
        status = add_file(t, t->options->validation_data, &t->validation);
    return status;
}

/* --- splits --- */

/* The bytes are shared out by tokens: of characters that is about what they are. */
static void hold_out(struct text *t)
{
    struct part *train = &t->train;
    const size_t n = train->end, bytes = train->bytes;
    const size_t held = (size_t)(t->options->test_fraction * (double)n + 0.5);
    train->end = n - held;
    train->bytes = (size_t)((double)bytes * (double)train->end / (double)n + 0.5);
    t->test = (struct part){train->end, n, bytes - train->bytes};
}

/* Only so many of them are tested. */
static void cap_test(struct text *t, size_t context)
{
    struct part *test = &t->test;
    const size_t n = test->end - test->first,
                 most = t->options->eval_tokens / context * context + 1;
    if (n <= most || t->options->eval_tokens < context)
        return;
    test->bytes = (size_t)((double)test->bytes * (double)most / (double)n + 0.5);
    test->end = test->first + most;
}

static enum hr_status make_table(const struct text *t, const struct hr_tokens *tokens,
                                 const struct part *part, const char *what, struct hr_table *out)
{
    const struct hr_split split = hr_tokens_split(tokens, part->first, part->end);
    out->features = HR_FEATURES_TOKENS;
    out->shape = (struct hr_shape){1, 1, tokens->context};
    out->count = split.count;
    out->first = part->first;
    out->end = part->end;
    out->bytes = part->bytes;
    if (split.count)
        return HR_OK;
    return hr_fail(HR_E_FORMAT,
                   "%s: has %zu %s tokens, expected at least %zu: one more than --context %zu",
                   t->name, part->end - part->first, what, tokens->context + 1, tokens->context);
}

static enum hr_status fill_storage(struct text *t, struct hr_storage *storage)
{
    struct hr_tokens *tokens = &storage->tokens;
    *tokens = (struct hr_tokens){.context = t->options->context,
                                 .width = hr_vocabulary_width(&t->vocabulary),
                                 .ids = t->ids.data};
    tokens->count = t->ids.bytes / tokens->width;
    if (tokens->count > UINT32_MAX)
        return hr_fail(HR_E_FORMAT, "%s: has %zu tokens, expected fewer than 2^32", t->name,
                       tokens->count);
    if (!t->test.end && !t->options->test_all)
        hold_out(t);
    if (t->test.end)
        cap_test(t, tokens->context);
    HR_TRY(make_table(t, tokens, &t->train, t->test.end ? "training" : "", &storage->train));
    if (t->test.end)
        HR_TRY(make_table(t, tokens, &t->test, "test", &storage->test));
    if (t->validation.end)
        HR_TRY(make_table(t, tokens, &t->validation, "validation", &storage->validation));
    storage->classes = t->vocabulary.count;
    storage->scale = 1;
    return hr_vocabulary_write(&t->vocabulary, &storage->recipe);
}

static enum hr_status open_file(const char *path, const struct hr_data_options *options,
                                struct hr_storage *storage)
{
    struct text t = {.name = path, .options = options};
    if (options->context < 1 || options->context > HR_MAX_CONTEXT)
        return hr_fail(HR_E_USAGE, "--context %zu: expected 1 to %d", options->context,
                       HR_MAX_CONTEXT);
    enum hr_status status = read_files(&t);
    storage->tokens.ids = t.ids.data; /* owned, whatever the outcome */
    if (status == HR_OK)
        status = fill_storage(&t, storage);
    hr_vocabulary_free(&t.vocabulary);
    return status;
}

const struct hr_format hr_format_text = {
    .name = "text",
    .options = HR_OPTION_TEST_DATA | HR_OPTION_TEST_FRACTION | HR_OPTION_VALIDATION_DATA |
               HR_OPTION_TOKENS,
    .matches = matches,
    .open = open_file,
};
