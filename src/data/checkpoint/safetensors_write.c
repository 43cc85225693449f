/* The format, written strictly: safetensors.h. */
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/printable.h"
#include "base/size.h"
#include "checkpoint/digest.h"
#include "checkpoint/safetensors.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "files are little-endian: on this machine numbers must be swapped");

/* Length and JSON as in the file. */
struct header {
    unsigned char *bytes; /* owned */
    size_t nbytes;        /* 8 + N */
    size_t data_bytes;    /* of the tensors behind it */
};

static enum hr_status fail_without_memory(const char *path)
{
    return hr_fail(HR_E_NOMEM, "%s: no memory for its header", path);
}

static enum hr_status check_tensor(const char *path, const struct hr_tensor *tensor)
{
    size_t bytes;
    const struct hr_printable name = hr_printable(tensor->name);
    if (!strcmp(tensor->name, "__metadata__"))
        return hr_fail(HR_E_USAGE, "%s: no tensor can be named __metadata__", path);
    if (tensor->ndim > HR_TENSOR_MAX_DIMS)
        return hr_fail(HR_E_USAGE, "%s: tensor \"%s\" has %zu dimensions, at most %d", path,
                       name.text, tensor->ndim, HR_TENSOR_MAX_DIMS);
    if (!hr_tensor_measure(tensor, &bytes) || bytes != tensor->bytes)
        return hr_fail(HR_E_USAGE, "%s: tensor \"%s\" is said to be %zu bytes, its shape is not",
                       path, name.text, tensor->bytes);
    return HR_OK;
}

/* Put value (stolen) at key; refuses a key that exists or is not UTF-8. Ask
 * hr_json_no_memory before value is made. */
static enum hr_status put(json_t *object, const char *path, const char *key, json_t *value)
{
    const struct hr_printable shown = hr_printable(key);
    if (json_object_get(object, key)) {
        json_decref(value);
        return hr_fail(HR_E_USAGE, "%s: \"%s\" is there twice", path, shown.text);
    }
    const bool done = json_object_set_new(object, key, value) == 0;
    if (!done && hr_json_no_memory())
        return fail_without_memory(path);
    if (!done)
        return hr_fail(HR_E_USAGE, "%s: \"%s\" or its text is not UTF-8", path, shown.text);
    return HR_OK;
}

static enum hr_status put_metadata(json_t *root, const char *path,
                                   const struct hr_tensor_file *file)
{
    if (file->nmetadata == 0)
        return HR_OK;
    if (file->nmetadata > HR_SAFETENSORS_METADATA_MAX)
        return hr_fail(HR_E_USAGE, "%s: %zu metadata entries, at most %d", path, file->nmetadata,
                       HR_SAFETENSORS_METADATA_MAX);
    hr_json_no_memory();
    json_t *metadata = json_object();
    HR_TRY(put(root, path, "__metadata__", metadata));
    for (size_t i = 0; i < file->nmetadata; i++) {
        hr_json_no_memory();
        HR_TRY(put(metadata, path, file->metadata[i].key, hr_json_text(file->metadata[i].value)));
    }
    return HR_OK;
}

static enum hr_status put_tensor(json_t *root, const char *path, const struct hr_tensor *tensor,
                                 size_t *end)
{
    const size_t begin = *end;
    HR_TRY(check_tensor(path, tensor));
    if (!hr_size_add(begin, tensor->bytes, end) || *end > INT64_MAX)
        return hr_fail(HR_E_USAGE, "%s: the tensors are too large together", path);
    hr_json_no_memory();
    json_t *shape = json_array();
    for (size_t d = 0; d < tensor->ndim; d++)
        if (json_array_append_new(shape, json_integer((json_int_t)tensor->shape[d])) != 0) {
            json_decref(shape);
            return fail_without_memory(path);
        }
    return put(root, path, tensor->name,
               json_pack("{s:s, s:o, s:[I, I]}", "dtype", hr_dtype_name(tensor->dtype), "shape",
                         shape, "data_offsets", (json_int_t)begin, (json_int_t)*end));
}

/* The length, json, and spaces. */
static enum hr_status frame(const char *path, const char *json, struct header *header)
{
    const size_t length = strlen(json), padded = hr_round_up(length, 8);
    if (padded > HR_SAFETENSORS_HEADER_MAX)
        return hr_fail(HR_E_USAGE, "%s: the header is %zu bytes, at most %d", path, padded,
                       HR_SAFETENSORS_HEADER_MAX);
    header->nbytes = HR_SAFETENSORS_LENGTH_BYTES + padded;
    header->bytes = malloc(header->nbytes);
    if (!header->bytes)
        return hr_fail(HR_E_NOMEM, "%s: no memory for a header of %zu bytes", path, padded);
    const uint64_t stored = padded;
    memcpy(header->bytes, &stored, sizeof stored);
    memset(header->bytes + HR_SAFETENSORS_LENGTH_BYTES, ' ', padded);
    memcpy(header->bytes + HR_SAFETENSORS_LENGTH_BYTES, json, length);
    return HR_OK;
}

static enum hr_status make_header(const char *path, const struct hr_tensor_file *file,
                                  struct header *header)
{
    enum hr_status status;
    char *json = NULL;
    json_t *root = json_object();
    if (!root)
        return fail_without_memory(path);
    HR_TRY_GOTO(put_metadata(root, path, file), status, out);
    for (size_t i = 0; i < file->ntensors; i++)
        HR_TRY_GOTO(put_tensor(root, path, &file->tensors[i], &header->data_bytes), status, out);
    json = hr_json_dump(root, JSON_COMPACT);
    status = json ? frame(path, json, header) : fail_without_memory(path);
out:
    free(json);
    json_decref(root);
    return status;
}

static enum hr_status digest_all(const char *path, const struct hr_tensor_file *file,
                                 const struct header *header, struct hr_file_digest *digest)
{
    struct hr_tensor_digest *tensors = calloc(file->ntensors + 1, sizeof *tensors);
    if (!tensors)
        return hr_fail(HR_E_NOMEM, "%s: no memory for %zu digests", path, file->ntensors);
    for (size_t i = 0; i < file->ntensors; i++) {
        memcpy(tensors[i].name, file->tensors[i].name, sizeof tensors[i].name);
        tensors[i].xxh3 = hr_digest64(file->tensors[i].data, file->tensors[i].bytes);
    }
    *digest = (struct hr_file_digest){.bytes = header->nbytes + header->data_bytes,
                                      .header = hr_digest64(header->bytes, header->nbytes),
                                      .ntensors = file->ntensors,
                                      .tensors = tensors};
    return HR_OK;
}

static enum hr_status write_all(const char *path, const struct hr_tensor_file *file,
                                const struct header *header)
{
    struct hr_file_writer writer;
    enum hr_status status;
    HR_TRY(hr_file_create(&writer, path, header->nbytes + header->data_bytes));
    HR_TRY_GOTO(hr_file_write(&writer, header->bytes, header->nbytes), status, out);
    for (size_t i = 0; i < file->ntensors; i++)
        HR_TRY_GOTO(hr_file_write(&writer, file->tensors[i].data, file->tensors[i].bytes), status,
                    out);
    status = hr_file_finish(&writer);
out:
    hr_file_abandon(&writer);
    return status;
}

enum hr_status hr_safetensors_write(const char *path, const struct hr_tensor_file *file,
                                    struct hr_file_digest *digest)
{
    struct header header = {0};
    struct hr_file_digest made = {0};
    enum hr_status status;
    HR_TRY_GOTO(make_header(path, file, &header), status, out);
    HR_TRY_GOTO(digest_all(path, file, &header, &made), status, out);
    HR_TRY_GOTO(write_all(path, file, &header), status, out);
    if (digest) {
        *digest = made;
        made = (struct hr_file_digest){0};
    }
out:
    hr_file_digest_free(&made);
    free(header.bytes);
    return status;
}
