#include "data/tokens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/philox.h"
#include "base/size.h"

static const char *const kinds[] = {"bytes", "chars", "numbers"};

enum hr_status hr_vocabulary_parse(const char *word, enum hr_vocabulary_kind *out)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (i != HR_VOCABULARY_NUMBERS && !strcmp(word, kinds[i])) {
            *out = (enum hr_vocabulary_kind)i;
            return HR_OK;
        }
    return hr_fail(HR_E_USAGE, "--text vocabulary=%s: expected bytes or chars", word);
}

const char *hr_vocabulary_name(enum hr_vocabulary_kind kind)
{
    return kinds[kind];
}

/* --- UTF-8: RFC 3629 --- */

enum { UNICODE_END = 0x110000 };

/* The character at text, of at most `bytes`; its length, or 0: no UTF-8. */
static size_t read_point(const char *text, size_t bytes, uint32_t *point)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *at = (const unsigned char *)text;
    const size_t length = at[0] < 0x80         ? 1
                          : at[0] >> 5 == 0x06 ? 2
                          : at[0] >> 4 == 0x0e ? 3
                          : at[0] >> 3 == 0x1e ? 4
                                               : 0;
    if (!length || length > bytes)
        return 0;
    *point = length == 1 ? at[0] : at[0] & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if (at[i] >> 6 != 2)
            return 0;
        *point = *point << 6 | (at[i] & 0x3fu);
    }
    const bool surrogate = *point >= 0xd800 && *point < 0xe000;
    return *point < least[length] || *point >= UNICODE_END || surrogate ? 0 : length;
}

static size_t write_point(uint32_t point, char *out)
{
    const size_t length = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    if (length == 1) {
        out[0] = (char)point;
        return 1;
    }
    for (size_t i = length; i-- > 1; point >>= 6)
        out[i] = (char)(0x80u | (point & 0x3fu));
    out[0] = (char)((0xf00u >> length & 0xffu) | point);
    return length;
}

static enum hr_status fail_at(const char *name, size_t at)
{
    return hr_fail(
        HR_E_FORMAT,
        "%s: byte %zu is no UTF-8; expected it for --text vocabulary=chars (bytes takes any)", name,
        at + 1);
}

/* --- vocabularies --- */

/* seen (UNICODE_END) of 1 where there is such a character. */
static enum hr_status list_points(const uint8_t *seen, struct hr_vocabulary *out)
{
    size_t n = 0;
    for (size_t p = 0; p < UNICODE_END; p++)
        n += seen[p];
    *out = (struct hr_vocabulary){.kind = HR_VOCABULARY_CHARS,
                                  .points = malloc((n + 1) * sizeof *out->points)};
    if (!out->points)
        return hr_fail(HR_E_NOMEM, "no memory for %zu characters", n);
    for (uint32_t p = 0; p < UNICODE_END; p++)
        if (seen[p])
            out->points[out->count++] = p;
    return HR_OK;
}

enum hr_status hr_vocabulary_of_text(const char *name, const struct hr_array *text,
                                     struct hr_vocabulary *out)
{
    uint8_t *seen = calloc(UNICODE_END, 1);
    enum hr_status status = seen ? HR_OK : hr_fail(HR_E_NOMEM, "%s: no memory", name);
    for (size_t at = 0, length; status == HR_OK && at < text->bytes; at += length) {
        uint32_t point = 0;
        length = read_point((const char *)text->data + at, text->bytes - at, &point);
        if (length)
            seen[point] = 1;
        else
            status = fail_at(name, at);
    }
    if (status == HR_OK)
        status = list_points(seen, out);
    free(seen);
    return status;
}

/* Ascending code points. */
static bool take_points(const json_t *list, struct hr_vocabulary *out)
{
    out->points = malloc((json_array_size(list) + 1) * sizeof *out->points);
    for (size_t i = 0; out->points && i < json_array_size(list); i++) {
        const json_int_t point = json_integer_value(json_array_get(list, i));
        if (point < 0 || point >= UNICODE_END || (i && point <= out->points[i - 1]))
            return false;
        out->points[out->count++] = (uint32_t)point;
    }
    return out->points && out->count;
}

enum hr_status hr_vocabulary_read(const char *recipe, struct hr_vocabulary *out)
{
    json_error_t error;
    json_t *json = hr_json_load(recipe, strlen(recipe), &error);
    const char *kind = json_string_value(json_object_get(json, "tokens"));
    bool good = false;
    *out = (struct hr_vocabulary){.count = 256};
    if (kind && !strcmp(kind, kinds[HR_VOCABULARY_BYTES])) {
        good = true;
    } else if (kind && !strcmp(kind, kinds[HR_VOCABULARY_CHARS])) {
        *out = (struct hr_vocabulary){.kind = HR_VOCABULARY_CHARS};
        good = take_points(json_object_get(json, "points"), out);
    } else if (kind && !strcmp(kind, kinds[HR_VOCABULARY_NUMBERS])) {
        const json_int_t count = json_integer_value(json_object_get(json, "count"));
        good = count > 0 && count <= HR_MAX_CLASSES;
        *out = (struct hr_vocabulary){.kind = HR_VOCABULARY_NUMBERS, .count = (size_t)count};
    }
    json_decref(json);
    if (good)
        return HR_OK;
    hr_vocabulary_free(out);
    return hr_fail(HR_E_FORMAT, "the model's metadata say nothing of tokens: it was not trained on "
                                "text");
}

enum hr_status hr_vocabulary_write(const struct hr_vocabulary *vocabulary, char **out)
{
    json_t *points = NULL, *json;
    if (vocabulary->kind == HR_VOCABULARY_CHARS)
        points = json_array();
    for (size_t i = 0; points && i < vocabulary->count; i++)
        hr_json_append(&points, json_integer(vocabulary->points[i]));
    json = hr_json_object("tokens", HR_JSON(kinds[vocabulary->kind]), "count",
                          HR_JSON(vocabulary->count), NULL);
    if (points && json_object_set_new(json, "points", points) != 0)
        hr_json_append(&json, NULL);
    *out = hr_json_dump(json, JSON_COMPACT);
    json_decref(json);
    return *out ? HR_OK : hr_fail(HR_E_NOMEM, "no memory for a vocabulary");
}

void hr_vocabulary_free(struct hr_vocabulary *vocabulary)
{
    free(vocabulary->points);
    *vocabulary = (struct hr_vocabulary){0};
}

size_t hr_vocabulary_width(const struct hr_vocabulary *vocabulary)
{
    return vocabulary->count <= 1 << 8 ? 1 : vocabulary->count <= 1 << 16 ? 2 : 4;
}

static bool find_point(const struct hr_vocabulary *vocabulary, uint32_t point, uint32_t *token)
{
    size_t begin = 0, end = vocabulary->count;
    while (begin < end) {
        const size_t middle = begin + (end - begin) / 2;
        if (vocabulary->points[middle] < point)
            begin = middle + 1;
        else
            end = middle;
    }
    *token = (uint32_t)begin;
    return begin < vocabulary->count && vocabulary->points[begin] == point;
}

static enum hr_status encode_chars(const struct hr_vocabulary *vocabulary, const char *name,
                                   const char *text, size_t bytes, struct hr_array *ids)
{
    const size_t width = hr_vocabulary_width(vocabulary);
    for (size_t at = 0, length; at < bytes; at += length) {
        uint32_t point = 0, token = 0;
        length = read_point(text + at, bytes - at, &point);
        if (!length)
            return fail_at(name, at);
        if (!find_point(vocabulary, point, &token))
            return hr_fail(HR_E_FORMAT,
                           "%s: \"%s\" (byte %zu) is none of the %zu characters of the training "
                           "text",
                           name, hr_shown(text + at, length).text, at + 1, vocabulary->count);
        HR_TRY(hr_array_add(ids, name, &token, width)); /* of a machine that is little-endian */
    }
    return HR_OK;
}

enum hr_status hr_vocabulary_encode(const struct hr_vocabulary *vocabulary, const char *name,
                                    const char *text, size_t bytes, struct hr_array *ids)
{
    if (vocabulary->kind == HR_VOCABULARY_BYTES)
        return hr_array_add(ids, name, text, bytes);
    if (vocabulary->kind == HR_VOCABULARY_CHARS)
        return encode_chars(vocabulary, name, text, bytes, ids);
    return hr_fail(HR_E_USAGE,
                   "%s: the model knows tokens as numbers alone, and not what text "
                   "they stand for",
                   name);
}

size_t hr_vocabulary_decode(const struct hr_vocabulary *vocabulary, uint32_t token, char *out)
{
    if (vocabulary->kind == HR_VOCABULARY_CHARS)
        return write_point(vocabulary->points[token], out);
    if (vocabulary->kind == HR_VOCABULARY_NUMBERS)
        return (size_t)snprintf(out, 16, "%u ", token);
    out[0] = (char)token;
    return 1;
}

enum hr_status hr_vocabulary_bytes(const struct hr_vocabulary *vocabulary, uint8_t **out)
{
    char text[16];
    *out = NULL;
    if (vocabulary->kind == HR_VOCABULARY_NUMBERS)
        return HR_OK;
    *out = malloc(vocabulary->count + 1);
    if (!*out)
        return hr_fail(HR_E_NOMEM, "no memory for a vocabulary");
    for (uint32_t i = 0; i < vocabulary->count; i++)
        (*out)[i] = (uint8_t)hr_vocabulary_decode(vocabulary, i, text);
    return HR_OK;
}

/* --- windows --- */

struct hr_split hr_tokens_split(const struct hr_tokens *tokens, size_t first, size_t end)
{
    const size_t n = end - first;
    return (struct hr_split){
        .count = n ? (n - 1) / tokens->context : 0, .first = first, .end = end};
}

size_t hr_tokens_bytes(const struct hr_tokens *tokens, const struct hr_split *split)
{
    size_t bytes = 0;
    for (size_t i = 1; tokens->bytes && i <= split->count * tokens->context; i++)
        bytes += tokens->bytes[hr_token(tokens, split->first + i)];
    return bytes;
}

size_t hr_tokens_measured(const struct hr_data_options *options)
{
    return hr_max_size(options->eval_tokens / options->context, 1) * options->context + 1;
}

size_t hr_tokens_offset(const struct hr_tokens *tokens, uint64_t seed, uint64_t pass)
{
    const struct hr_philox block = hr_random_block(seed, HR_STREAM_TEXT, pass, 0);
    return ((uint64_t)block.v[0] << 32 | block.v[1]) % tokens->context;
}

void hr_tokens_gather(const struct hr_tokens *tokens, const struct hr_split *split,
                      const uint32_t *samples, size_t n, size_t offset, float *x, uint32_t *y)
{
    const size_t T = tokens->context, last = split->end - T - 1;
    for (size_t i = 0; i < n; i++, x += T) {
        const size_t at = hr_min_size(split->first + samples[i] * T + offset, last);
        for (size_t t = 0; t < T; t++)
            x[t] = (float)hr_token(tokens, at + t);
        y[i] = (uint32_t)at;
    }
}
