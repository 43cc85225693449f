/* The format, read with every check: safetensors.h. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/printable.h"
#include "base/size.h"
#include "checkpoint/digest.h"
#include "checkpoint/safetensors.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "files are little-endian: on this machine numbers must be swapped");

/* Place of tensor `index`, counted from the end of the header. */
struct span {
    size_t begin, end, index;
};

struct reader {
    const char *path;
    int fd;
    size_t file_bytes;
    const struct hr_file_digest *expected; /* borrowed; NULL: no digests to compare with */
    unsigned char *header;                 /* length and JSON; owned */
    size_t header_bytes;                   /* 8 + N */
    json_t *root;                          /* owned */
    struct span *spans;                    /* one a tensor; owned */
    struct hr_tensor_file file;            /* for the caller */
};

static enum hr_status read_length(struct reader *r)
{
    uint64_t length;
    if (r->expected && r->file_bytes != r->expected->bytes)
        return hr_fail(HR_E_FORMAT, "%s: is %zu bytes, the manifest says %llu", r->path,
                       r->file_bytes, (unsigned long long)r->expected->bytes);
    if (r->file_bytes < HR_SAFETENSORS_LENGTH_BYTES)
        return hr_fail(HR_E_FORMAT, "%s: is %zu bytes, a header length alone is 8", r->path,
                       r->file_bytes);
    HR_TRY(hr_file_read_at(r->fd, r->path, 0, &length, sizeof length));
    if (length > HR_SAFETENSORS_HEADER_MAX)
        return hr_fail(HR_E_FORMAT, "%s: the header is said to be %llu bytes, at most %d", r->path,
                       (unsigned long long)length, HR_SAFETENSORS_HEADER_MAX);
    if (length > r->file_bytes - HR_SAFETENSORS_LENGTH_BYTES)
        return hr_fail(HR_E_FORMAT, "%s: the header is said to be %llu bytes, the file has %zu",
                       r->path, (unsigned long long)length,
                       r->file_bytes - HR_SAFETENSORS_LENGTH_BYTES);
    r->header_bytes = HR_SAFETENSORS_LENGTH_BYTES + (size_t)length;
    return HR_OK;
}

static enum hr_status read_header(struct reader *r)
{
    HR_TRY(read_length(r));
    r->header = malloc(r->header_bytes);
    if (!r->header)
        return hr_fail(HR_E_NOMEM, "%s: no memory for a header of %zu bytes", r->path,
                       r->header_bytes);
    HR_TRY(hr_file_read_at(r->fd, r->path, 0, r->header, r->header_bytes));
    if (!r->expected)
        return HR_OK;
    const uint64_t found = hr_digest64(r->header, r->header_bytes);
    if (found != r->expected->header)
        return hr_fail(HR_E_FORMAT, "%s: its header is damaged: XXH3-64 is %s, expected %s",
                       r->path, hr_digest64_text(found).hex,
                       hr_digest64_text(r->expected->header).hex);
    return HR_OK;
}

/* Each value of JSON has a separator before or behind it. */
static enum hr_status check_values(const struct reader *r)
{
    size_t separators = 0;
    for (size_t i = HR_SAFETENSORS_LENGTH_BYTES; i < r->header_bytes; i++)
        separators += r->header[i] == ',' || r->header[i] == ':' || r->header[i] == '[';
    return separators <= HR_SAFETENSORS_VALUES_MAX
               ? HR_OK
               : hr_fail(HR_E_FORMAT,
                         "%s: the header has more than %d values, expected at most that", r->path,
                         HR_SAFETENSORS_VALUES_MAX);
}

static enum hr_status parse_header(struct reader *r)
{
    json_error_t error;
    HR_TRY(check_values(r));
    r->root = hr_json_load((const char *)r->header + HR_SAFETENSORS_LENGTH_BYTES,
                           r->header_bytes - HR_SAFETENSORS_LENGTH_BYTES, &error);
    if (!r->root && hr_json_no_memory())
        return hr_fail(HR_E_NOMEM, "%s: no memory for its header", r->path);
    if (!r->root)
        return hr_fail(HR_E_FORMAT, "%s: the header is not JSON: byte %d: %s", r->path,
                       error.position, hr_printable(error.text).text);
    if (!json_is_object(r->root))
        return hr_fail(HR_E_FORMAT, "%s: the header is not a JSON object", r->path);
    return HR_OK;
}

static enum hr_status take_entry(struct reader *r, const char *key, const json_t *value)
{
    struct hr_metadata *entry = &r->file.metadata[r->file.nmetadata++];
    const struct hr_printable shown = hr_printable(key);
    const char *text = json_string_value(value);
    if (!text)
        return hr_fail(HR_E_FORMAT, "%s: metadata \"%s\" is not a string", r->path, shown.text);
    if (strlen(key) >= sizeof entry->key || !hr_json_bytes(text, entry->value, sizeof entry->value))
        return hr_fail(HR_E_FORMAT,
                       "%s: metadata \"%s\" has %zu bytes of key (at most %zu), %zu of text (at "
                       "most %zu)",
                       r->path, shown.text, strlen(key), sizeof entry->key - 1, strlen(text),
                       sizeof entry->value - 1);
    memcpy(entry->key, key, strlen(key));
    return HR_OK;
}

static enum hr_status take_metadata(struct reader *r)
{
    json_t *metadata = json_object_get(r->root, "__metadata__"), *value;
    const char *key;
    if (!metadata)
        return HR_OK;
    if (!json_is_object(metadata))
        return hr_fail(HR_E_FORMAT, "%s: __metadata__ is not an object", r->path);
    const size_t count = json_object_size(metadata);
    if (count > HR_SAFETENSORS_METADATA_MAX)
        return hr_fail(HR_E_FORMAT, "%s: %zu metadata entries, at most %d", r->path, count,
                       HR_SAFETENSORS_METADATA_MAX);
    r->file.metadata = calloc(count + 1, sizeof *r->file.metadata);
    if (!r->file.metadata)
        return hr_fail(HR_E_NOMEM, "%s: no memory for %zu metadata entries", r->path, count);
    json_object_foreach(metadata, key, value) HR_TRY(take_entry(r, key, value));
    return HR_OK;
}

/* A whole number of at least 0. */
static bool take_size(const json_t *value, size_t *out)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *out = (size_t)json_integer_value(value);
    return (json_int_t)*out == json_integer_value(value);
}

static enum hr_status take_dtype(const struct reader *r, const json_t *info, const char *shown,
                                 struct hr_tensor *tensor)
{
    const char *text = json_string_value(json_object_get(info, "dtype"));
    if (!text)
        return hr_fail(HR_E_FORMAT, "%s: tensor \"%s\": dtype is not a string", r->path, shown);
    for (int d = HR_F32; d <= HR_BF16; d++) {
        tensor->dtype = (enum hr_dtype)d;
        if (!strcmp(hr_dtype_name(tensor->dtype), text))
            return HR_OK;
    }
    return hr_fail(HR_E_FORMAT,
                   "%s: tensor \"%s\": dtype \"%s\" is none of F32, F64, F16, BF16, I64, U8",
                   r->path, shown, hr_printable(text).text);
}

static enum hr_status take_shape(const struct reader *r, const json_t *info, const char *shown,
                                 struct hr_tensor *tensor)
{
    const json_t *shape = json_object_get(info, "shape");
    if (!json_is_array(shape))
        return hr_fail(HR_E_FORMAT, "%s: tensor \"%s\": shape is not an array", r->path, shown);
    tensor->ndim = json_array_size(shape);
    if (tensor->ndim > HR_TENSOR_MAX_DIMS)
        return hr_fail(HR_E_FORMAT, "%s: tensor \"%s\": %zu dimensions, at most %d", r->path, shown,
                       tensor->ndim, HR_TENSOR_MAX_DIMS);
    for (size_t d = 0; d < tensor->ndim; d++)
        if (!take_size(json_array_get(shape, d), &tensor->shape[d]))
            return hr_fail(HR_E_FORMAT, "%s: tensor \"%s\": dimension %zu is not a count", r->path,
                           shown, d);
    return HR_OK;
}

static enum hr_status take_tensor(struct reader *r, const char *name, const json_t *info)
{
    const size_t index = r->file.ntensors++;
    struct hr_tensor *tensor = &r->file.tensors[index];
    struct span *span = &r->spans[index];
    const struct hr_printable shown = hr_printable(name);
    if (strlen(name) >= sizeof tensor->name)
        return hr_fail(HR_E_FORMAT, "%s: a tensor name of %zu bytes, at most %zu: \"%.40s...\"",
                       r->path, strlen(name), sizeof tensor->name - 1, shown.text);
    memcpy(tensor->name, name, strlen(name));
    if (!json_is_object(info))
        return hr_fail(HR_E_FORMAT, "%s: tensor \"%s\" is not an object", r->path, shown.text);
    HR_TRY(take_dtype(r, info, shown.text, tensor));
    HR_TRY(take_shape(r, info, shown.text, tensor));
    const json_t *offsets = json_object_get(info, "data_offsets");
    if (json_array_size(offsets) != 2 || !take_size(json_array_get(offsets, 0), &span->begin) ||
        !take_size(json_array_get(offsets, 1), &span->end))
        return hr_fail(HR_E_FORMAT, "%s: tensor \"%s\": data_offsets are not two counts", r->path,
                       shown.text);
    span->index = index;
    return HR_OK;
}

static enum hr_status take_tensors(struct reader *r)
{
    const char *name;
    json_t *info;
    const size_t count = json_object_size(r->root);
    r->file.tensors = calloc(count + 1, sizeof *r->file.tensors);
    r->spans = calloc(count + 1, sizeof *r->spans);
    if (!r->file.tensors || !r->spans)
        return hr_fail(HR_E_NOMEM, "%s: no memory for %zu tensors", r->path, count);
    json_object_foreach(r->root, name, info) if (strcmp(name, "__metadata__") != 0)
        HR_TRY(take_tensor(r, name, info));
    return HR_OK;
}

static int by_offset(const void *left, const void *right)
{
    const struct span *a = left, *b = right;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end);
}

/* Tensors fill the file without holes or overlap: other data could hide there. */
static enum hr_status check_spans(struct reader *r)
{
    size_t at = 0;
    qsort(r->spans, r->file.ntensors, sizeof *r->spans, by_offset);
    for (size_t i = 0; i < r->file.ntensors; i++) {
        const struct span *span = &r->spans[i];
        struct hr_tensor *tensor = &r->file.tensors[span->index];
        const struct hr_printable shown = hr_printable(tensor->name);
        if (span->begin != at || span->end < span->begin)
            return hr_fail(HR_E_FORMAT,
                           "%s: tensor \"%s\" is at [%zu, %zu), expected to begin at "
                           "%zu",
                           r->path, shown.text, span->begin, span->end, at);
        if (!hr_tensor_measure(tensor, &tensor->bytes))
            return hr_fail(HR_E_FORMAT, "%s: tensor \"%s\": its shape overflows", r->path,
                           shown.text);
        if (tensor->bytes != span->end - span->begin)
            return hr_fail(HR_E_FORMAT, "%s: tensor \"%s\" has %zu bytes, its shape says %zu",
                           r->path, shown.text, span->end - span->begin, tensor->bytes);
        at = span->end;
    }
    if (at != r->file_bytes - r->header_bytes)
        return hr_fail(HR_E_FORMAT,
                       "%s: the tensors are %zu bytes, behind the header there are %zu", r->path,
                       at, r->file_bytes - r->header_bytes);
    return HR_OK;
}

/* One block for all tensors, each aligned. */
static enum hr_status make_storage(struct reader *r)
{
    size_t need = HR_SAFETENSORS_ALIGN;
    for (size_t i = 0; i < r->file.ntensors; i++)
        if (!hr_size_add(need, HR_SAFETENSORS_ALIGN, &need) ||
            !hr_size_add(need, r->file.tensors[i].bytes, &need))
            return hr_fail(HR_E_FORMAT, "%s: the tensors are too large together", r->path);
    HR_TRY(hr_memory_ask(r->path, need));
    r->file.storage = aligned_alloc(HR_SAFETENSORS_ALIGN, hr_round_up(need, HR_SAFETENSORS_ALIGN));
    if (!r->file.storage)
        return hr_fail(HR_E_NOMEM, "%s: no memory for %zu bytes of tensors", r->path, need);
    unsigned char *next = r->file.storage;
    for (size_t i = 0; i < r->file.ntensors; i++) {
        r->file.tensors[i].data = next;
        next += hr_round_up(r->file.tensors[i].bytes, HR_SAFETENSORS_ALIGN);
    }
    return HR_OK;
}

static enum hr_status verify_tensor(const struct reader *r, size_t index)
{
    const struct hr_tensor *tensor = &r->file.tensors[index];
    const struct hr_printable shown = hr_printable(tensor->name);
    if (index >= r->expected->ntensors || strcmp(r->expected->tensors[index].name, tensor->name))
        return hr_fail(HR_E_FORMAT, "%s: tensor \"%s\" is not in the manifest", r->path,
                       shown.text);
    const uint64_t found = hr_digest64(tensor->data, tensor->bytes);
    if (found != r->expected->tensors[index].xxh3)
        return hr_fail(HR_E_FORMAT, "%s: tensor \"%s\" is damaged: XXH3-64 is %s, expected %s",
                       r->path, shown.text, hr_digest64_text(found).hex,
                       hr_digest64_text(r->expected->tensors[index].xxh3).hex);
    return HR_OK;
}

static enum hr_status read_data(struct reader *r)
{
    HR_TRY(make_storage(r));
    for (size_t i = 0; i < r->file.ntensors; i++) {
        const struct span *span = &r->spans[i];
        const struct hr_tensor *tensor = &r->file.tensors[span->index];
        HR_TRY(hr_file_read_at(r->fd, r->path, r->header_bytes + span->begin, tensor->data,
                               tensor->bytes));
        if (r->expected)
            HR_TRY(verify_tensor(r, span->index));
    }
    if (r->expected && r->expected->ntensors != r->file.ntensors)
        return hr_fail(HR_E_FORMAT, "%s: has %zu tensors, the manifest says %zu", r->path,
                       r->file.ntensors, r->expected->ntensors);
    return HR_OK;
}

enum hr_status hr_safetensors_read_verified(const char *path, const struct hr_file_digest *expected,
                                            struct hr_tensor_file *out)
{
    struct reader r = {.path = path, .expected = expected};
    enum hr_status status;
    HR_TRY(hr_file_open(path, &r.fd, &r.file_bytes));
    HR_TRY_GOTO(read_header(&r), status, out);
    HR_TRY_GOTO(parse_header(&r), status, out);
    HR_TRY_GOTO(take_metadata(&r), status, out);
    HR_TRY_GOTO(take_tensors(&r), status, out);
    HR_TRY_GOTO(check_spans(&r), status, out);
    HR_TRY_GOTO(read_data(&r), status, out);
    *out = r.file;
    r.file = (struct hr_tensor_file){0};
out:
    hr_tensor_file_free(&r.file);
    free(r.spans);
    json_decref(r.root);
    free(r.header);
    close(r.fd);
    return status;
}

enum hr_status hr_safetensors_read(const char *path, struct hr_tensor_file *out)
{
    return hr_safetensors_read_verified(path, NULL, out);
}
