#include "formats/idx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/table.h"
#include "base/memory.h"
#include "base/size.h"
#include "data/gzip_stream.h"

enum { TYPE_U8 = 0x08, FIRST_STEP_BYTES = 64 << 10 };

static const char *type_name(uint8_t type)
{
    switch (type) {
    case TYPE_U8:
        return "unsigned byte";
    case 0x09:
        return "signed byte";
    case 0x0b:
        return "short";
    case 0x0c:
        return "int";
    case 0x0d:
        return "float";
    case 0x0e:
        return "double";
    }
    return "unknown";
}

static uint32_t big_endian(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* "60000x28x28" */
struct dims_text {
    char text[HR_IDX_MAX_DIMS * 11];
};

static struct dims_text dims_text(const struct hr_idx *idx)
{
    struct dims_text out = {""};
    for (size_t i = 0, used = 0; i < idx->ndim; i++)
        used += (size_t)snprintf(out.text + used, sizeof out.text - used, "%s%zu", i ? "x" : "",
                                 idx->dims[i]);
    return out;
}

static enum hr_status check_magic(const char *name, const uint8_t *magic, size_t ndim)
{
    if (magic[0] || magic[1])
        return hr_fail(HR_E_FORMAT, "%s: starts with %08x, expected %08x (IDX, unsigned bytes)",
                       name, big_endian(magic), TYPE_U8 << 8 | (unsigned)ndim);
    if (magic[2] != TYPE_U8)
        return hr_fail(HR_E_FORMAT, "%s: holds elements of type %02x (%s), expected 08 (%s)", name,
                       magic[2], type_name(magic[2]), type_name(TYPE_U8));
    if (magic[3] != ndim)
        return hr_fail(HR_E_FORMAT, "%s: number of dimensions is %d, expected %zu", name, magic[3],
                       ndim);
    return HR_OK;
}

static enum hr_status check_sizes(const char *name, struct hr_idx *idx)
{
    size_t bytes = 1;
    bool fits = true;
    for (size_t i = 0; i < idx->ndim; i++)
        fits = fits && hr_size_mul(bytes, idx->dims[i], &bytes);
    if (idx->dims[0] >= HR_TABLE_MAX_COUNT)
        return hr_fail(HR_E_FORMAT, "%s: declares %zu samples, expected fewer than %zu", name,
                       idx->dims[0], HR_TABLE_MAX_COUNT);
    if (!fits || bytes > HR_IDX_MAX_BYTES)
        return hr_fail(HR_E_FORMAT, "%s: declares %s bytes, expected at most 8 GiB", name,
                       dims_text(idx).text);
    idx->bytes = bytes;
    return HR_OK;
}

static enum hr_status read_header(struct hr_gzip_stream *s, size_t ndim, struct hr_idx *idx)
{
    uint8_t header[4 + 4 * HR_IDX_MAX_DIMS];
    const size_t want = 4 + 4 * ndim;
    size_t got;
    HR_TRY(hr_gzip_stream_read(s, header, want, &got));
    if (got >= 4)
        HR_TRY(check_magic(s->name, header, ndim));
    if (got < want)
        return hr_fail(HR_E_FORMAT, "%s: ends after %zu bytes, expected an IDX header of %zu",
                       s->name, got, want);
    idx->ndim = ndim;
    for (size_t i = 0; i < ndim; i++)
        idx->dims[i] = big_endian(header + 4 + 4 * i);
    HR_TRY(check_sizes(s->name, idx));
    const uint64_t there = s->bytes > want ? s->bytes - want : 0;
    if (!s->gzip && there != idx->bytes)
        return hr_fail(HR_E_FORMAT, "%s: holds %llu bytes after the header, expected %s = %zu",
                       s->name, (unsigned long long)there, dims_text(idx).text, idx->bytes);
    return HR_OK;
}

static enum hr_status grow(const char *name, uint8_t **data, size_t bytes)
{
    uint8_t *moved = realloc(*data, bytes ? bytes : 1);
    if (!moved)
        return hr_fail(HR_E_NOMEM, "%s: no memory for %zu bytes", name, bytes);
    *data = moved;
    return HR_OK;
}

/* Fill idx->data, freed by the caller whatever the outcome. */
static enum hr_status read_elements(struct hr_gzip_stream *s, struct hr_idx *idx)
{
    HR_TRY(hr_memory_ask(s->name, idx->bytes)); /* as the header says, before inflating */
    size_t capacity = s->gzip ? hr_min_size(idx->bytes, FIRST_STEP_BYTES) : idx->bytes;
    for (size_t have = 0;; capacity = hr_min_size(idx->bytes, 2 * capacity)) {
        HR_TRY(grow(s->name, &idx->data, capacity));
        size_t got;
        HR_TRY(hr_gzip_stream_read(s, idx->data + have, capacity - have, &got));
        have += got;
        if (have < capacity)
            return hr_fail(HR_E_FORMAT, "%s: holds %zu bytes after the header, expected %s = %zu",
                           s->name, have, dims_text(idx).text, idx->bytes);
        if (have == idx->bytes)
            return HR_OK;
    }
}

/* Read one byte more: it refuses a decompression bomb, and makes zlib check the last CRC. */
static enum hr_status check_end(struct hr_gzip_stream *s, const struct hr_idx *idx)
{
    uint8_t excess;
    size_t got;
    HR_TRY(hr_gzip_stream_read(s, &excess, 1, &got));
    if (got)
        return hr_fail(HR_E_FORMAT, "%s: goes on after the elements, expected %s = %zu bytes",
                       s->name, dims_text(idx).text, idx->bytes);
    return HR_OK;
}

static enum hr_status read_idx(struct hr_gzip_stream *s, size_t ndim, struct hr_idx *out)
{
    HR_ASSERT(ndim >= 1 && ndim <= HR_IDX_MAX_DIMS);
    struct hr_idx idx = {0};
    enum hr_status st;
    HR_TRY_GOTO(read_header(s, ndim, &idx), st, out);
    HR_TRY_GOTO(read_elements(s, &idx), st, out);
    HR_TRY_GOTO(check_end(s, &idx), st, out);
    *out = idx;
    return HR_OK;
out:
    free(idx.data);
    return st;
}

enum hr_status hr_idx_read_file(const char *path, size_t ndim, struct hr_idx *out)
{
    struct hr_gzip_stream stream;
    HR_TRY(hr_gzip_stream_open_file(path, &stream));
    const enum hr_status st = read_idx(&stream, ndim, out);
    hr_gzip_stream_close(&stream);
    return st;
}

enum hr_status hr_idx_read_dims(const char *path, size_t ndim, struct hr_idx *out)
{
    struct hr_gzip_stream stream;
    HR_TRY(hr_gzip_stream_open_file(path, &stream));
    *out = (struct hr_idx){0};
    const enum hr_status st = read_header(&stream, ndim, out);
    hr_gzip_stream_close(&stream);
    return st;
}

enum hr_status hr_idx_read_memory(const char *name, const void *memory, size_t bytes, size_t ndim,
                                  struct hr_idx *out)
{
    struct hr_gzip_stream stream;
    HR_TRY(hr_gzip_stream_open_memory(name, memory, bytes, &stream));
    const enum hr_status st = read_idx(&stream, ndim, out);
    hr_gzip_stream_close(&stream);
    return st;
}

void hr_idx_free(struct hr_idx *idx)
{
    free(idx->data);
    *idx = (struct hr_idx){0};
}
