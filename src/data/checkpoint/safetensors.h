/* safetensors.h - the file format of the tensors, written strictly, read with every check.
 *
 *     bytes 0..7      N, little-endian
 *     bytes 8..8+N    {"__metadata__":{"format":"pt"},"0.bias":{"dtype":"F32","shape":[2],
 *                     "data_offsets":[0,8]},...} and spaces, so that N is a multiple of 8
 *     the rest        the tensors, packed, little-endian, last index fastest
 *
 * data_offsets are [begin, end) in the rest; together they cover it without holes or overlap.
 * What the reader does:
 *  1. lengths against the size of the file, before anything is allocated
 *  2. JSON: UTF-8, one object, no key twice, fields of the right types, a dtype we know
 *  3. tensors sorted by offset: each begins where the last ended, the first at 0, the last ends
 *     with the file; shape times dtype is that many bytes
 *  4. the bytes are copied to aligned memory
 *
 * Public half: hogring/checkpoint.h. Threads: none.
 * Test: tests/unit/checkpoint/test_safetensors.c
 */
#ifndef HR_CHECKPOINT_SAFETENSORS_H
#define HR_CHECKPOINT_SAFETENSORS_H

#include <stdbool.h>

#include "base/error.h"
#include "base/printable.h" /* names in a file are a stranger's */
#include "hogring/checkpoint.h"

enum {
    HR_SAFETENSORS_LENGTH_BYTES = 8,
    HR_SAFETENSORS_HEADER_MAX = 100000000, /* the reference reader's limit */
    HR_SAFETENSORS_VALUES_MAX = 1 << 20,   /* a tensor has about ten; JSON takes 30 bytes for one */
    HR_SAFETENSORS_METADATA_MAX = 4096,    /* entries are 1 KiB each in memory, 8 bytes in a file */
    HR_SAFETENSORS_ALIGN = 64,             /* of tensors in memory */
};

struct hr_tensor_digest {
    char name[sizeof((struct hr_tensor *)0)->name];
    uint64_t xxh3;
};

/* The manifest's entry of one file. */
struct hr_file_digest {
    uint64_t bytes;  /* of the whole file */
    uint64_t header; /* XXH3-64 of bytes 0..8+N */
    size_t ntensors;
    struct hr_tensor_digest *tensors; /* owned; in the order of the header */
};

void hr_file_digest_free(struct hr_file_digest *digest);

/* Write and sync a new file; the tensors in the order given.
 *   digest   out, may be NULL: free with hr_file_digest_free; untouched on error
 * HR_E_USAGE: a name twice or not UTF-8, a shape that is not `bytes`, ... On error no file
 * is left. */
HR_CHECKED enum hr_status hr_safetensors_write(const char *path, const struct hr_tensor_file *file,
                                               struct hr_file_digest *digest);

/* As hr_safetensors_read, and compares with `expected` (may be NULL): size and header first, so
 * that a damaged header is reported as such, not as what it happens to parse as. */
HR_CHECKED enum hr_status hr_safetensors_read_verified(const char *path,
                                                       const struct hr_file_digest *expected,
                                                       struct hr_tensor_file *out);

/* *bytes = size by shape and dtype; false when it does not fit a size_t. */
bool hr_tensor_measure(const struct hr_tensor *tensor, size_t *bytes);

#endif
