#include "checkpoint/manifest.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/printable.h"
#include "checkpoint/digest.h"

#define FORMAT "hogring checkpoint"

/* The end of the text: the digest of everything before it. */
struct tail {
    char text[48];
};

static struct tail make_tail(const char *text, size_t bytes)
{
    struct tail tail;
    snprintf(tail.text, sizeof tail.text, ",\n  \"xxh3_64\": \"%s\"\n}\n",
             hr_digest64_text(hr_digest64(text, bytes)).hex);
    return tail;
}

void hr_manifest_free(struct hr_manifest *manifest)
{
    hr_file_digest_free(&manifest->model);
    hr_file_digest_free(&manifest->trainer);
}

static json_t *file_json(const struct hr_file_digest *file)
{
    json_t *tensors = json_object();
    for (size_t i = 0; i < file->ntensors; i++)
        if (json_object_set_new(tensors, file->tensors[i].name,
                                json_string(hr_digest64_text(file->tensors[i].xxh3).hex)) != 0) {
            json_decref(tensors);
            return NULL;
        }
    return json_pack("{s:I, s:s, s:o}", "bytes", (json_int_t)file->bytes, "header",
                     hr_digest64_text(file->header).hex, "tensors", tensors);
}

/* The text without its tail, malloc'ed; NULL without memory. */
static char *body_text(const struct hr_manifest *manifest)
{
    json_t *root = json_pack(
        "{s:s, s:i, s:s, s:I, s:{s:o, s:o}}", "format", FORMAT, "version", (int)HR_MANIFEST_VERSION,
        "hogring", HR_VERSION, "step", (json_int_t)manifest->step, "files", HR_MODEL_NAME,
        file_json(&manifest->model), HR_TRAINER_NAME, file_json(&manifest->trainer));
    char *text = hr_json_dump(root, JSON_INDENT(2));
    json_decref(root);
    if (text)
        text[strlen(text) - strlen("\n}")] = 0; /* the tail closes the object */
    return text;
}

enum hr_status hr_manifest_write(const char *path, const struct hr_manifest *manifest)
{
    char *body = body_text(manifest);
    const size_t length = body ? strlen(body) : 0;
    char *text = body ? malloc(length + sizeof(struct tail)) : NULL;
    enum hr_status status;
    if (text) {
        memcpy(text, body, length);
        strcpy(text + length, make_tail(body, length).text);
        status = hr_file_write_durably(path, text, strlen(text));
    } else {
        status = hr_fail(HR_E_NOMEM, "%s: no memory for a manifest", path);
    }
    free(text);
    free(body);
    return status;
}

static enum hr_status check_tail(const char *path, const char *text, size_t bytes)
{
    const size_t tail_bytes = strlen(make_tail("", 0).text);
    if (bytes < tail_bytes)
        return hr_fail(HR_E_FORMAT, "%s: is damaged: %zu bytes, its last line alone has %zu", path,
                       bytes, tail_bytes);
    const struct tail tail = make_tail(text, bytes - tail_bytes);
    if (memcmp(text + bytes - tail_bytes, tail.text, tail_bytes) != 0)
        return hr_fail(HR_E_FORMAT,
                       "%s: is damaged: its last line does not hold its XXH3-64, %.16s", path,
                       hr_digest64_text(hr_digest64(text, bytes - tail_bytes)).hex);
    return HR_OK;
}

/* *value = the count under a key; false when it is not one. */
static bool take_count(const json_t *object, const char *key, uint64_t *value)
{
    const json_t *number = json_object_get(object, key);
    if (!json_is_integer(number) || json_integer_value(number) < 0)
        return false;
    *value = (uint64_t)json_integer_value(number);
    return true;
}

static bool take_digest(const json_t *text, uint64_t *digest)
{
    return json_is_string(text) && hr_digest64_parse(json_string_value(text), digest);
}

static enum hr_status take_tensors(const char *path, json_t *tensors, struct hr_file_digest *out)
{
    const char *name;
    json_t *text;
    out->tensors = calloc(json_object_size(tensors) + 1, sizeof *out->tensors);
    if (!out->tensors)
        return hr_fail(HR_E_NOMEM, "%s: no memory for its digests", path);
    json_object_foreach(tensors, name, text)
    {
        struct hr_tensor_digest *tensor = &out->tensors[out->ntensors++];
        if (strlen(name) >= sizeof tensor->name || !take_digest(text, &tensor->xxh3))
            return hr_fail(HR_E_FORMAT, "%s: tensor \"%s\" has no digest of 16 hex digits", path,
                           hr_printable(name).text);
        strcpy(tensor->name, name);
    }
    return HR_OK;
}

static enum hr_status take_file(const char *path, const json_t *root, const char *name,
                                struct hr_file_digest *out)
{
    const json_t *file = json_object_get(json_object_get(root, "files"), name);
    json_t *tensors = json_object_get(file, "tensors");
    if (!take_count(file, "bytes", &out->bytes) ||
        !take_digest(json_object_get(file, "header"), &out->header) || !json_is_object(tensors))
        return hr_fail(HR_E_FORMAT, "%s: says nothing usable of %s", path, name);
    return take_tensors(path, tensors, out);
}

static enum hr_status take_all(const char *path, const json_t *root, struct hr_manifest *out)
{
    uint64_t version;
    const char *format = json_string_value(json_object_get(root, "format"));
    if (!format || strcmp(format, FORMAT) != 0)
        return hr_fail(HR_E_FORMAT, "%s: format is not \"%s\"", path, FORMAT);
    if (!take_count(root, "version", &version) || version != HR_MANIFEST_VERSION)
        return hr_fail(HR_E_FORMAT, "%s: is of another version than %d, which hogring %s reads",
                       path, HR_MANIFEST_VERSION, HR_VERSION);
    if (!take_count(root, "step", &out->step))
        return hr_fail(HR_E_FORMAT, "%s: step is not a count", path);
    HR_TRY(take_file(path, root, HR_MODEL_NAME, &out->model));
    return take_file(path, root, HR_TRAINER_NAME, &out->trainer);
}

enum hr_status hr_manifest_parse(const char *path, const char *text, size_t bytes,
                                 struct hr_manifest *out)
{
    struct hr_manifest found = {0};
    json_error_t error;
    enum hr_status status;
    HR_TRY(check_tail(path, text, bytes));
    json_t *root = hr_json_load(text, bytes, &error);
    if (root)
        status = take_all(path, root, &found);
    else if (hr_json_no_memory())
        status = hr_fail(HR_E_NOMEM, "%s: no memory for its JSON", path);
    else
        status = hr_fail(HR_E_FORMAT, "%s: is not JSON: line %d: %s", path, error.line,
                         hr_printable(error.text).text);
    if (status == HR_OK)
        *out = found;
    else
        hr_manifest_free(&found);
    json_decref(root);
    return status;
}

enum hr_status hr_manifest_read(const char *path, struct hr_manifest *out)
{
    char *text;
    size_t bytes;
    HR_TRY(hr_file_read_own(path, HR_MANIFEST_MAX_BYTES, &text, &bytes));
    const enum hr_status status = hr_manifest_parse(path, text, bytes, out);
    free(text);
    return status;
}
