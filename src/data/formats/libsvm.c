#include "formats/libsvm.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/parse.h"
#include "formats/formats.h"

static const uint32_t max_index = INT32_MAX;

struct reader {
    const char *name;
    const char *at, *end; /* end: of the line, or of a comment's beginning */
    size_t line;
    struct hr_array values, rows, columns, labels;
    uint32_t largest; /* index so far */
    bool queries;     /* qid:N was there */
};

/* A word of a line: up to the next blank. */
struct word {
    const char *text;
    size_t bytes;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static bool next_word(struct reader *r, struct word *word)
{
    while (r->at < r->end && is_blank(*r->at))
        r->at++;
    word->text = r->at;
    while (r->at < r->end && !is_blank(*r->at))
        r->at++;
    word->bytes = (size_t)(r->at - word->text);
    return word->bytes > 0;
}

static enum hr_status fail_word(const struct reader *r, const struct word *word,
                                const char *expected)
{
    return hr_fail(HR_E_FORMAT, "%s: line %zu: \"%s\", expected %s", r->name, r->line,
                   hr_shown(word->text, word->bytes).text, expected);
}

/* 1.5, or of several targets 1.5,2.5 */
static enum hr_status add_targets(struct reader *r, const struct word *word,
                                  struct hr_target_rows *rows)
{
    double row[HR_MAX_TARGETS];
    size_t width = 0;
    uint32_t number;
    const char *at = word->text, *end = word->text + word->bytes;
    for (bool more = true; more; width++) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const size_t bytes = (size_t)((comma ? comma : end) - at);
        if (width == HR_MAX_TARGETS || !hr_parse_real(at, bytes, &row[width]) ||
            !isfinite(row[width]))
            return fail_word(r, word, "a finite number, the target (several: 1.5,2.5)");
        more = comma;
        at = comma ? comma + 1 : end;
    }
    if (rows->width && width != rows->width)
        return fail_word(r, word, "as many targets as in the lines before");
    HR_TRY(hr_target_rows_begin(rows, r->name, width, NULL));
    HR_TRY(hr_target_rows_add(rows, r->name, row, &number));
    return hr_array_add(&r->labels, r->name, &number, sizeof number);
}

/* A label, or several targets: 1.5,2.5 */
static bool are_numbers(const struct word *word)
{
    const char *at = word->text, *end = word->text + word->bytes;
    double value;
    for (const char *comma; (comma = memchr(at, ',', (size_t)(end - at))) != NULL; at = comma + 1)
        if (!hr_parse_real(at, (size_t)(comma - at), &value))
            return false;
    return hr_parse_real(at, (size_t)(end - at), &value);
}

static enum hr_status add_label(struct reader *r, const struct word *word, struct hr_labels *labels)
{
    double value;
    uint32_t number = 0;
    if (labels && labels->targets.wanted)
        return add_targets(r, word, &labels->targets);
    if (labels ? !hr_parse_real(word->text, word->bytes, &value) : !are_numbers(word))
        return fail_word(r, word, "a number, the label");
    if (labels)
        HR_TRY(hr_labels_add(labels, r->name, word->text, word->bytes, &number));
    return hr_array_add(&r->labels, r->name, &number, sizeof number);
}

/* The digits before the colon; false when they are none or too large. */
static bool read_index(const struct word *word, size_t digits, uint32_t *index)
{
    uint64_t value = 0;
    for (size_t i = 0; i < digits; i++) {
        if (!isdigit((unsigned char)word->text[i]) || value > max_index)
            return false;
        value = 10 * value + (uint64_t)(word->text[i] - '0');
    }
    *index = (uint32_t)value;
    return digits && value <= max_index;
}

static enum hr_status add_pair(struct reader *r, const struct word *word, int64_t *last)
{
    const char *colon = memchr(word->text, ':', word->bytes);
    const size_t digits = colon ? (size_t)(colon - word->text) : 0;
    uint32_t index;
    double wide;
    if (digits == 3 && !memcmp(word->text, "qid", 3)) {
        r->queries = true;
        return HR_OK;
    }
    if (!colon || !read_index(word, digits, &index))
        return fail_word(r, word, "index:value with an index up to 2147483647");
    if (!hr_parse_real(colon + 1, word->bytes - digits - 1, &wide) || !isfinite((float)wide))
        return fail_word(r, word, "index:value with a finite number");
    if (index <= *last)
        return fail_word(r, word, "an index above the one before");
    const float value = (float)wide;
    *last = index;
    r->largest = index > r->largest ? index : r->largest;
    HR_TRY(hr_array_add(&r->columns, r->name, &index, sizeof index));
    return hr_array_add(&r->values, r->name, &value, sizeof value);
}

/* r->at .. r->end is one line without its break. */
static enum hr_status read_line(struct reader *r, struct hr_labels *labels)
{
    struct word word;
    int64_t last = -1;
    const char *comment = memchr(r->at, '#', (size_t)(r->end - r->at));
    r->end = comment ? comment : r->end;
    if (!next_word(r, &word))
        return HR_OK;
    const struct word nothing = {"0", 1};
    const bool pair = memchr(word.text, ':', word.bytes);
    HR_TRY(add_label(r, !labels && pair ? &nothing : &word, labels));
    if (!labels && pair)
        HR_TRY(add_pair(r, &word, &last));
    while (next_word(r, &word))
        HR_TRY(add_pair(r, &word, &last));
    const uint64_t pairs = r->values.bytes / sizeof(float);
    return hr_array_add(&r->rows, r->name, &pairs, sizeof pairs);
}

static enum hr_status read_lines(struct reader *r, const char *text, size_t bytes,
                                 struct hr_labels *labels)
{
    const char *end = text + bytes;
    const uint64_t zero = 0;
    HR_TRY(hr_array_add(&r->rows, r->name, &zero, sizeof zero));
    for (r->line = 1; text < end; r->line++) {
        const char *feed = memchr(text, '\n', (size_t)(end - text));
        r->at = text;
        r->end = feed ? feed : end;
        text = feed ? feed + 1 : end;
        HR_TRY(read_line(r, labels));
    }
    if (!r->labels.bytes)
        return hr_fail(HR_E_FORMAT, "%s: holds no sample, expected lines of label index:value ...",
                       r->name);
    return HR_OK;
}

enum hr_status hr_libsvm_parse(const char *name, const char *text, size_t bytes,
                               struct hr_labels *labels, struct hr_table *out)
{
    struct reader r = {.name = name};
    const size_t mark = hr_bytes_mark(text, bytes);
    text += mark;
    bytes -= mark;
    const enum hr_status st = read_lines(&r, text, bytes, labels);
    struct hr_table table = {
        .features = HR_FEATURES_SPARSE,
        .shape = {(size_t)r.largest + 1, 1, 1},
        .count = r.labels.bytes / sizeof *table.labels,
        .values = r.values.data,
        .rows = r.rows.data,
        .columns = r.columns.data,
        .labels = r.labels.data,
    };
    if (r.queries)
        snprintf(table.note, sizeof table.note,
                 "%s: qid:N is left out: rows of one query may stand in both splits, unless "
                 "--test names the test rows",
                 name);
    if (st == HR_OK)
        *out = table;
    else
        hr_table_free(&table);
    return st;
}

/* --- columns */

static bool has_index(const struct hr_table *table, uint32_t index)
{
    for (size_t i = 0; i < hr_table_pairs(table); i++)
        if (table->columns[i] == index)
            return true;
    return false;
}

static void shift(struct hr_table *table, uint32_t base, size_t features)
{
    for (size_t i = 0; i < hr_table_pairs(table); i++)
        table->columns[i] -= base;
    table->shape = (struct hr_shape){features, 1, 1};
    table->index_base = (int)base;
}

enum hr_status hr_libsvm_shift(const char *name, const struct hr_data_options *options,
                               struct hr_table *const tables[HR_LIBSVM_TABLES])
{
    bool zero = false;
    size_t end = 0;
    for (size_t t = 0; t < HR_LIBSVM_TABLES; t++) {
        if (!tables[t]->count)
            continue;
        zero = zero || has_index(tables[t], 0);
        end = tables[t]->shape.channels > end ? tables[t]->shape.channels : end;
    }
    const bool automatic = !strcmp(options->index_base, "auto");
    const uint32_t base = automatic ? !zero : options->index_base[0] == '1';
    if (base && zero)
        return hr_fail(HR_E_FORMAT, "%s: has an index 0, expected indices from 1 (--index-base 1)",
                       name);
    if (end <= base)
        return hr_fail(HR_E_FORMAT, "%s: has no index:value at all, expected some", name);
    if (options->feature_count && end - base > options->feature_count)
        return hr_fail(HR_E_FORMAT, "%s: has index %zu, expected at most %zu (--features %zu)",
                       name, end - 1, options->feature_count - 1 + base, options->feature_count);
    const size_t features = options->feature_count ? options->feature_count : end - base;
    for (size_t t = 0; t < HR_LIBSVM_TABLES; t++)
        if (tables[t]->count)
            shift(tables[t], base, features);
    return HR_OK;
}

/* --- the format */

/* To the first word of the first line that holds one, as read_line has it. */
static void pass_empty_lines(struct reader *r)
{
    while (r->at < r->end && (is_blank(*r->at) || *r->at == '\n' || *r->at == '#')) {
        const char *last = *r->at == '#' ? memchr(r->at, '\n', (size_t)(r->end - r->at)) : r->at;
        r->at = last ? last + 1 : r->end;
    }
}

/* A whole number; whether the index can be used is said when it is read. */
static bool is_like_index(const char *text, size_t bytes)
{
    const size_t sign = bytes > 1 && *text == '-';
    for (size_t i = sign; i < bytes; i++)
        if (!isdigit((unsigned char)text[i]))
            return false;
    return bytes > 0;
}

/* The first words: a number, then digits and a colon. With a label alone the name decides. */
static bool matches(const struct hr_probe *probe)
{
    struct reader r = {.at = probe->head, .end = probe->head + probe->bytes};
    struct word label = {0}, pair = {0};
    if (probe->folder)
        return false;
    r.at += hr_bytes_mark(probe->head, probe->bytes);
    pass_empty_lines(&r);
    next_word(&r, &label);
    const char *feed = memchr(label.text, '\n', (size_t)(r.end - label.text));
    const bool alone = feed && feed < label.text + label.bytes;
    if (!label.bytes || alone || !are_numbers(&label) || !next_word(&r, &pair))
        return hr_path_ends_in(probe->path, ".libsvm") || hr_path_ends_in(probe->path, ".svm") ||
               hr_path_ends_in(probe->path, ".svmlight");
    const char *colon = memchr(pair.text, ':', pair.bytes);
    const size_t before = colon ? (size_t)(colon - pair.text) : 0;
    return is_like_index(pair.text, before) || (before == 3 && !memcmp(pair.text, "qid", 3));
}

static enum hr_status read_file(const char *path, struct hr_labels *labels, struct hr_table *table)
{
    struct hr_array text;
    HR_TRY(hr_bytes_read_file(path, &text));
    const enum hr_status st = hr_libsvm_parse(path, text.data, text.bytes, labels, table);
    free(text.data);
    return st;
}

static enum hr_status open_file(const char *path, const struct hr_data_options *options,
                                struct hr_storage *storage)
{
    storage->scale = 1.0f;
    HR_TRY(read_file(path, &storage->labels, &storage->train));
    if (options->test_data[0])
        HR_TRY(read_file(options->test_data, &storage->labels, &storage->test));
    if (options->validation_data[0])
        HR_TRY(read_file(options->validation_data, &storage->labels, &storage->validation));
    return hr_libsvm_shift(path, options,
                           (struct hr_table *const[HR_LIBSVM_TABLES]){
                               &storage->train, &storage->test, &storage->validation});
}

const struct hr_format hr_format_libsvm = {
    .name = "libsvm",
    .options = HR_OPTION_TEST_DATA | HR_OPTION_VALIDATION_DATA | HR_OPTION_TEST_FRACTION |
               HR_OPTION_SPLIT | HR_OPTION_INDEX_BASE | HR_OPTION_FEATURES | HR_OPTION_VALUES,
    .matches = matches,
    .open = open_file,
};
