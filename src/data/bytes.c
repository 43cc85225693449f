#include "data/bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/printable.h"
#include "base/size.h"
#include "data/gzip_stream.h"

enum { FIRST_BYTES = 4096, STEP_BYTES = 64 << 10 };

static enum hr_status grow(struct hr_array *array, const char *name, size_t need)
{
    if (need > HR_DATA_MAX_BYTES)
        return hr_fail(HR_E_FORMAT,
                       "%s: needs more than 8 GiB for one array, expected at most that", name);
    size_t capacity = array->capacity ? 2 * array->capacity : FIRST_BYTES;
    capacity = hr_min_size(capacity < need ? need : capacity, HR_DATA_MAX_BYTES);
    HR_TRY(hr_memory_ask(name, capacity - array->capacity));
    void *moved = realloc(array->data, capacity);
    if (!moved)
        return hr_fail(HR_E_NOMEM, "%s: no memory for %zu bytes", name, capacity);
    array->data = moved;
    array->capacity = capacity;
    return HR_OK;
}

enum hr_status hr_array_add(struct hr_array *array, const char *name, const void *bytes, size_t n)
{
    if (n > array->capacity - array->bytes) {
        if (n > HR_DATA_MAX_BYTES)
            return grow(array, name, SIZE_MAX);
        HR_TRY(grow(array, name, array->bytes + n));
    }
    if (n)
        memcpy((char *)array->data + array->bytes, bytes, n);
    array->bytes += n;
    return HR_OK;
}

enum hr_status hr_take(const char *name, size_t n, void **out)
{
    if (n > HR_DATA_MAX_BYTES)
        return hr_fail(HR_E_FORMAT, "%s: needs %zu bytes for one array, expected at most 8 GiB",
                       name, n);
    HR_TRY(hr_memory_ask(name, n));
    *out = calloc(n ? n : 1, 1);
    return *out ? HR_OK : hr_fail(HR_E_NOMEM, "%s: no memory for %zu bytes", name, n);
}

static enum hr_status read_all(struct hr_gzip_stream *stream, struct hr_array *out)
{
    if (stream->bytes > HR_DATA_MAX_BYTES)
        return hr_fail(HR_E_FORMAT, "%s: has %llu bytes, expected at most 8 GiB", stream->name,
                       (unsigned long long)stream->bytes);
    HR_TRY(
        grow(out, stream->name, hr_min_size(hr_gzip_stream_least(stream) + 1, HR_DATA_MAX_BYTES)));
    for (;;) {
        if (out->bytes == out->capacity)
            HR_TRY(grow(out, stream->name, out->bytes + 1));
        const size_t free_bytes = hr_min_size(out->capacity - out->bytes, (size_t)16 * STEP_BYTES);
        size_t got;
        HR_TRY(hr_gzip_stream_read(stream, (char *)out->data + out->bytes, free_bytes, &got));
        out->bytes += got;
        if (got < free_bytes)
            return HR_OK;
    }
}

enum hr_status hr_bytes_read_file(const char *path, struct hr_array *out)
{
    struct hr_gzip_stream stream;
    struct hr_array array = {0};
    HR_TRY(hr_gzip_stream_open_file(path, &stream));
    const enum hr_status status = read_all(&stream, &array);
    hr_gzip_stream_close(&stream);
    if (status == HR_OK)
        *out = array;
    else
        free(array.data);
    return status;
}

enum hr_status hr_bytes_peek_file(const char *path, void *out, size_t n, size_t *got)
{
    struct hr_gzip_stream stream;
    HR_TRY(hr_gzip_stream_open_file(path, &stream));
    const enum hr_status status = hr_gzip_stream_read(&stream, out, n, got);
    hr_gzip_stream_close(&stream);
    return status;
}

size_t hr_bytes_mark(const char *text, size_t bytes)
{
    return bytes >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0;
}

struct hr_shown hr_shown(const char *text, size_t bytes)
{
    enum { KEPT = 40 };
    struct hr_shown shown = {""};
    const size_t kept = hr_min_size(bytes, KEPT);
    memcpy(shown.text, text, kept);
    hr_make_printable(&(struct hr_printable_state){0}, shown.text, kept, "");
    if (bytes > kept)
        memcpy(shown.text + kept, "...", 4);
    return shown;
}
