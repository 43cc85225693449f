/* protobuf.h - messages of Protocol Buffers, written field by field.
 *
 *     struct hr_protobuf p = {0};
 *     size_t graph = hr_protobuf_begin(&p, 7);            ModelProto.graph, a message
 *     hr_protobuf_string(&p, 2, "mlp");                   GraphProto.name
 *     size_t tensor = hr_protobuf_begin(&p, 5);           GraphProto.initializer
 *     hr_protobuf_packed(&p, 1, shape, 2);                TensorProto.dims
 *     float *raw = hr_protobuf_reserve(&p, 9, bytes);     TensorProto.raw_data, filled in place
 *     if (raw) memcpy(raw, weights, bytes);
 *     hr_protobuf_end(&p, tensor);
 *     hr_protobuf_end(&p, graph);
 *     HR_TRY_GOTO(hr_protobuf_finish(&p), st, out);       did all of it fit?
 *     ... p.bytes, p.length ...
 *     out: hr_protobuf_free(&p);
 *
 * The writing calls return nothing: after the first that fails the others do nothing, and finish
 * says what failed, so that code reads like the message it writes. A field whose value is the
 * default of proto3 (0, "") is written all the same; who wants it left out does not call.
 *
 * Cost: the buffer doubles. The length of a message stands before it in one byte; a message above
 * 127 bytes is moved by 1 to 4 bytes when it ends: each byte once for every message around it.
 * Limits: 2 GiB - 1, the format's own. `field` from 1 on.
 * Threads: none. Test: tests/unit/encode/test_protobuf.c
 */
#ifndef HR_ENCODE_PROTOBUF_H
#define HR_ENCODE_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define HR_PROTOBUF_MAX ((size_t)INT32_MAX)

struct hr_protobuf {
    unsigned char *bytes; /* owned; what is written so far, when no call failed */
    size_t length, capacity;
    enum hr_status status; /* of the first call that failed */
    size_t wanted;         /* bytes that were wanted then */
};

/* int32, int64, uint32, uint64, bool, enum: a negative number is cast, and takes ten bytes. */
void hr_protobuf_varint(struct hr_protobuf *p, uint32_t field, uint64_t value);

void hr_protobuf_float(struct hr_protobuf *p, uint32_t field, float value);
void hr_protobuf_double(struct hr_protobuf *p, uint32_t field, double value);

void hr_protobuf_bytes(struct hr_protobuf *p, uint32_t field, const void *data, size_t bytes);
void hr_protobuf_string(struct hr_protobuf *p, uint32_t field, const char *text);

/* A field of `bytes` bytes that the caller fills before the next call; NULL when something
 * failed. Not aligned. */
void *hr_protobuf_reserve(struct hr_protobuf *p, uint32_t field, size_t bytes);

/* Repeated numbers as one packed field. Readers take packed and single ones alike. */
void hr_protobuf_packed(struct hr_protobuf *p, uint32_t field, const int64_t *value, size_t count);
void hr_protobuf_packed_doubles(struct hr_protobuf *p, uint32_t field, const double *value,
                                size_t count);

/* What is written between begin and end is the message in `field`; messages nest. `begun` is what
 * begin returned. */
size_t hr_protobuf_begin(struct hr_protobuf *p, uint32_t field);
void hr_protobuf_end(struct hr_protobuf *p, size_t begun);

/* HR_E_NOMEM, with the bytes that were wanted, or HR_E_FAILED above the limit, when a call
 * failed. */
HR_CHECKED enum hr_status hr_protobuf_finish(const struct hr_protobuf *p);

/* Forget what is written, and that a call failed; the memory is kept for the next message. */
void hr_protobuf_clear(struct hr_protobuf *p);

/* Give the memory back. Harmless on a zeroed struct. */
void hr_protobuf_free(struct hr_protobuf *p);

#endif
