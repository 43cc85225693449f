/* bytes.h - whole files in memory, and arrays that grow with what was really read.
 *
 * Errors: HR_E_IO, HR_E_FORMAT (over 8 GiB, damaged gzip), HR_E_NOMEM; each names the file.
 * Threads: none. Tests: those of the formats, tests/unit/data/test_*.c, tests/fuzz
 */
#ifndef HR_DATA_BYTES_H
#define HR_DATA_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* More in one array or file is refused. */
#define HR_DATA_MAX_BYTES ((size_t)8 << 30)

/* A growing array of any elements; {0} is empty. free(array.data). */
struct hr_array {
    void *data;
    size_t bytes, capacity;
};

/* Append n bytes; `name` is for messages. Memory grows by doubling; large pieces are checked
 * against what is free (base/memory.h). */
HR_CHECKED enum hr_status hr_array_add(struct hr_array *array, const char *name, const void *bytes,
                                       size_t n);

/* Take n bytes of zeros, at least one; free it. HR_E_NOMEM names the file; large pieces are checked
 * first. */
HR_CHECKED enum hr_status hr_take(const char *name, size_t n, void **out);

/* The content of a file, inflated when it is gzip. free(out->data); untouched on error. */
HR_CHECKED enum hr_status hr_bytes_read_file(const char *path, struct hr_array *out);

/* The first bytes of a file's content, at most n. */
HR_CHECKED enum hr_status hr_bytes_peek_file(const char *path, void *out, size_t n, size_t *got);

/* Bytes of the UTF-8 byte order mark that a text begins with: 3, or 0. */
size_t hr_bytes_mark(const char *text, size_t bytes);

/* Text of a stranger's file for a message: cut to 40 bytes, printable (base/printable.h). */
struct hr_shown {
    char text[48];
};
struct hr_shown hr_shown(const char *text, size_t bytes);

#endif
