/* idx.h - IDX files, the format of MNIST (http://yann.lecun.com/exdb/mnist/).
 *
 *     byte 0, 1   0
 *     byte 2      element type: 08 unsigned byte; 09 signed byte, 0b short, 0c int, 0d float,
 *                 0e double are refused by name: hogring keeps a byte a feature
 *     byte 3      number of dimensions
 *     then        the dimensions, unsigned 32 bits each, big-endian
 *     then        the elements, last dimension fastest, and nothing more
 *
 * Plain or gzip, told by content. Memory is taken for what is there and never for what the header
 * claims: a plain file must have the size that its header declares before anything is allocated,
 * and for gzip the allocation at most doubles what has really been inflated.
 *
 * Errors: HR_E_FORMAT (file, found, expected), HR_E_IO, HR_E_NOMEM.
 * Threads: pure but for the files. Test: tests/unit/formats/test_idx.c
 */
#ifndef HR_FORMATS_IDX_H
#define HR_FORMATS_IDX_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define HR_IDX_MAX_DIMS 4
#define HR_IDX_MAX_BYTES ((size_t)8 << 30) /* of elements; a larger file is refused */

struct hr_idx {
    size_t ndim;
    size_t dims[HR_IDX_MAX_DIMS];
    size_t bytes;  /* product of dims */
    uint8_t *data; /* (dims...), owned; never NULL after a read */
};

/* Read a file that must have `ndim` dimensions, 1 <= ndim <= HR_IDX_MAX_DIMS. `out` is written only
 * on success; give it back with hr_idx_free. */
HR_CHECKED enum hr_status hr_idx_read_file(const char *path, size_t ndim, struct hr_idx *out);

/* Its dimensions alone; data is NULL. */
HR_CHECKED enum hr_status hr_idx_read_dims(const char *path, size_t ndim, struct hr_idx *out);

/* The same as a file, from memory; `name` is for messages. */
HR_CHECKED enum hr_status hr_idx_read_memory(const char *name, const void *memory, size_t bytes,
                                             size_t ndim, struct hr_idx *out);

/* Harmless on a zeroed struct. */
void hr_idx_free(struct hr_idx *idx);

/* The data set inside the library (format.h). */
struct hr_storage;
HR_CHECKED enum hr_status hr_idx_open_digits(struct hr_storage *storage);

#endif
