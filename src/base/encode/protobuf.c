/* A field is a key, field << 3 | wire type, and a value. Numbers are varints: 7 bits a byte, lowest
 * first, the top bit set on all but the last. */
#include "encode/protobuf.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"

enum { VARINT = 0, FIXED64 = 1, LENGTH = 2, FIXED32 = 5, VARINT_MAX = 10 };

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "fixed values are written as they lie");

/* Room for `bytes` more behind what is written; NULL: there is none, and the first such call is
 * kept for finish. */
static unsigned char *room(struct hr_protobuf *p, size_t bytes)
{
    size_t want;
    if (p->status != HR_OK)
        return NULL;
    if (!hr_size_add(p->length, bytes, &want) || want > HR_PROTOBUF_MAX) {
        p->status = HR_E_FAILED;
        return NULL;
    }
    if (want > p->capacity) {
        const size_t capacity =
            hr_min_size(hr_max_size(2 * p->capacity, hr_max_size(want, 256)), HR_PROTOBUF_MAX);
        unsigned char *grown = realloc(p->bytes, capacity);
        if (!grown) {
            p->status = HR_E_NOMEM;
            p->wanted = capacity;
            return NULL;
        }
        p->bytes = grown;
        p->capacity = capacity;
    }
    return p->bytes + p->length;
}

static size_t put_varint(unsigned char *to, uint64_t value)
{
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        to[n++] = (unsigned char)(value | 0x80);
    to[n++] = (unsigned char)value;
    return n;
}

static size_t varint_bytes(uint64_t value)
{
    unsigned char unused[VARINT_MAX];
    return put_varint(unused, value);
}

static void write_varint(struct hr_protobuf *p, uint64_t value)
{
    unsigned char *to = room(p, VARINT_MAX);
    if (to)
        p->length += put_varint(to, value);
}

static void write_key(struct hr_protobuf *p, uint32_t field, unsigned type)
{
    HR_ASSERT(field >= 1 && field < 1u << 29);
    write_varint(p, (uint64_t)field << 3 | type);
}

static void write_bytes(struct hr_protobuf *p, const void *data, size_t bytes)
{
    unsigned char *to = room(p, bytes);
    if (to && bytes > 0)
        memcpy(to, data, bytes);
    p->length += to ? bytes : 0;
}

void hr_protobuf_varint(struct hr_protobuf *p, uint32_t field, uint64_t value)
{
    write_key(p, field, VARINT);
    write_varint(p, value);
}

void hr_protobuf_float(struct hr_protobuf *p, uint32_t field, float value)
{
    write_key(p, field, FIXED32);
    write_bytes(p, &value, sizeof value);
}

void hr_protobuf_double(struct hr_protobuf *p, uint32_t field, double value)
{
    write_key(p, field, FIXED64);
    write_bytes(p, &value, sizeof value);
}

void hr_protobuf_bytes(struct hr_protobuf *p, uint32_t field, const void *data, size_t bytes)
{
    write_key(p, field, LENGTH);
    write_varint(p, bytes);
    write_bytes(p, data, bytes);
}

void hr_protobuf_string(struct hr_protobuf *p, uint32_t field, const char *text)
{
    hr_protobuf_bytes(p, field, text, strlen(text));
}

void *hr_protobuf_reserve(struct hr_protobuf *p, uint32_t field, size_t bytes)
{
    write_key(p, field, LENGTH);
    write_varint(p, bytes);
    unsigned char *to = room(p, bytes);
    p->length += to ? bytes : 0;
    return to;
}

void hr_protobuf_packed(struct hr_protobuf *p, uint32_t field, const int64_t *value, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += varint_bytes((uint64_t)value[i]);
    write_key(p, field, LENGTH);
    write_varint(p, bytes);
    for (size_t i = 0; i < count; i++)
        write_varint(p, (uint64_t)value[i]);
}

void hr_protobuf_packed_doubles(struct hr_protobuf *p, uint32_t field, const double *value,
                                size_t count)
{
    hr_protobuf_bytes(p, field, value, count * sizeof *value);
}

size_t hr_protobuf_begin(struct hr_protobuf *p, uint32_t field)
{
    write_key(p, field, LENGTH);
    write_varint(p, 0); /* one byte for the length, which end knows */
    return p->length;
}

void hr_protobuf_end(struct hr_protobuf *p, size_t begun)
{
    const size_t bytes = p->length - begun, more = varint_bytes(bytes) - 1;
    if (!room(p, more))
        return;
    memmove(p->bytes + begun + more, p->bytes + begun, bytes);
    put_varint(p->bytes + begun - 1, bytes);
    p->length += more;
}

enum hr_status hr_protobuf_finish(const struct hr_protobuf *p)
{
    if (p->status == HR_E_NOMEM)
        return hr_fail(HR_E_NOMEM, "no memory for a message of %zu bytes", p->wanted);
    if (p->status != HR_OK)
        return hr_fail(p->status, "the message passes 2 GiB, the most that protobuf has");
    return HR_OK;
}

void hr_protobuf_clear(struct hr_protobuf *p)
{
    p->length = 0;
    p->status = HR_OK;
}

void hr_protobuf_free(struct hr_protobuf *p)
{
    free(p->bytes);
    *p = (struct hr_protobuf){0};
}
