#include "formats/token_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "formats/npy.h"

/* --- .bin --- */

enum { BIN_HEADER = 1024, BIN_16 = 20240520, BIN_32 = 20240801, BIN_VERSION = 1 };

/* Of a machine that is little-endian (dataset_digest.c). */
static uint32_t word_at(const char *memory, size_t index)
{
    uint32_t word;
    memcpy(&word, memory + index * sizeof word, sizeof word);
    return word;
}

static bool is_npy(const char *head, size_t bytes)
{
    return bytes >= HR_NPY_MAGIC_BYTES && !memcmp(head, HR_NPY_MAGIC, HR_NPY_MAGIC_BYTES);
}

bool hr_token_file_is(const char *path, const char *head, size_t bytes)
{
    const uint32_t magic = bytes >= sizeof magic ? word_at(head, 0) : 0;
    return is_npy(head, bytes) || magic == BIN_16 || magic == BIN_32 ||
           hr_path_ends_in(path, ".npy") ||
           (hr_path_ends_in(path, ".bin") && memchr(head, '\0', bytes));
}

static enum hr_status parse_bin(const char *name, const char *memory, size_t bytes,
                                struct hr_token_view *out)
{
    if (bytes < BIN_HEADER)
        return hr_fail(HR_E_FORMAT, "%s: has %zu bytes, expected a header of %d, as llm.c writes",
                       name, bytes, BIN_HEADER);
    const uint32_t magic = word_at(memory, 0), version = word_at(memory, 1);
    if ((magic != BIN_16 && magic != BIN_32) || version != BIN_VERSION)
        return hr_fail(HR_E_FORMAT,
                       "%s: begins with %u, version %u, expected llm.c's tokens: %d (uint16) or %d "
                       "(uint32), version %d",
                       name, magic, version, BIN_16, BIN_32, BIN_VERSION);
    *out = (struct hr_token_view){
        .begin = BIN_HEADER, .count = word_at(memory, 2), .width = magic == BIN_16 ? 2 : 4};
    if (out->count * out->width == bytes - BIN_HEADER)
        return HR_OK;
    return hr_fail(HR_E_FORMAT, "%s: holds %zu bytes behind its header, expected %zu tokens of %zu",
                   name, bytes - BIN_HEADER, out->count, out->width);
}

/* --- npy --- */

static enum hr_status parse_npy(const char *name, const char *memory, size_t bytes,
                                struct hr_token_view *out)
{
    struct hr_npy npy;
    HR_TRY(hr_npy_parse(name, memory, bytes, &npy));
    if (npy.ndim != 1 || npy.kind != 'u' || npy.item > 4)
        return hr_fail(HR_E_FORMAT,
                       "%s: holds %c%zu in %zu dimensions, expected tokens, u2 or u4 in one "
                       "(a.ravel().astype('uint16')), or samples: a folder with X_train.npy and "
                       "y_train.npy",
                       name, npy.kind, npy.item, npy.ndim);
    if (npy.swapped && npy.item > 1)
        return hr_fail(HR_E_FORMAT, "%s: is big-endian, expected little-endian (a.astype('<u%zu'))",
                       name, npy.item);
    *out = (struct hr_token_view){
        .begin = (size_t)((const char *)npy.data - memory), .count = npy.count, .width = npy.item};
    return HR_OK;
}

enum hr_status hr_token_file_parse(const char *name, const void *memory, size_t bytes,
                                   struct hr_token_view *out)
{
    const bool npy = is_npy(memory, bytes) || hr_path_ends_in(name, ".npy");
    HR_TRY((npy ? parse_npy : parse_bin)(name, memory, bytes, out));
    return out->count ? HR_OK : hr_fail(HR_E_FORMAT, "%s: is empty, expected tokens", name);
}

/* --- what is beside them --- */

enum { MEANING_BYTES = 64 << 20 };

enum hr_status hr_token_file_meaning(const char *path, size_t length, struct hr_vocabulary *out)
{
    char beside[HR_PATH_MAX], *text;
    json_error_t error;
    size_t size;
    *out = (struct hr_vocabulary){.kind = HR_VOCABULARY_NUMBERS};
    HR_TRY(hr_path(beside, "%s.json", path));
    if (access(beside, F_OK))
        return HR_OK;
    HR_TRY(hr_file_read_all(beside, MEANING_BYTES, &text, &size));
    json_t *json = hr_json_load(text, size, &error);
    const double of = hr_json_number_at(json, "length");
    enum hr_status status = hr_vocabulary_read(text, out);
    json_decref(json);
    free(text);
    if (status != HR_OK)
        return hr_fail(HR_E_FORMAT,
                       "%s: does not say what the tokens of %s stand for; hogring data make tokens "
                       "writes both, and without it they are numbers",
                       beside, path);
    if (of >= (double)length && of <= (double)length)
        return HR_OK;
    hr_vocabulary_free(out);
    return hr_fail(HR_E_FORMAT, "%s: is of %.0f tokens, and %s has %zu: it belongs to another file",
                   beside, of, path, length);
}

static enum hr_status write_meaning(const char *path, size_t length,
                                    const struct hr_vocabulary *vocabulary)
{
    char beside[HR_PATH_MAX], *recipe, *text;
    json_error_t error;
    HR_TRY(hr_path(beside, "%s.json", path));
    HR_TRY(hr_vocabulary_write(vocabulary, &recipe));
    json_t *json = hr_json_load(recipe, strlen(recipe), &error);
    free(recipe);
    json_object_set_new(json, "length", json_integer((json_int_t)length));
    text = hr_json_dump(json, JSON_COMPACT);
    json_decref(json);
    if (!text)
        return hr_fail(HR_E_NOMEM, "%s: no memory", beside);
    const enum hr_status status = hr_file_replace_durably(beside, text, strlen(text));
    free(text);
    return status;
}

enum hr_status hr_token_file_write(const char *path, const void *ids, size_t length,
                                   const struct hr_vocabulary *vocabulary)
{
    HR_TRY(hr_npy_write(path, &(struct hr_npy){.kind = 'u',
                                               .item = hr_vocabulary_width(vocabulary),
                                               .ndim = 1,
                                               .shape = {length},
                                               .data = ids}));
    return write_meaning(path, length, vocabulary);
}
