/* npy.h - arrays as NumPy saves them (numpy/lib/format.py), versions 1.0, 2.0 and 3.0.
 *
 *     93 'NUMPY' | major | minor | header length, 2 bytes (1.0) or 4, little-endian
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }    keys in any order
 *     the elements, last index fastest
 *
 * A data set is a folder of X_train.npy, y_train.npy, X_test.npy, y_test.npy (without the last two,
 * test samples are held out). X is (n,F), (n,H,W) or (n,C,H,W): u1 is kept as bytes with scale
 * 1/255, other integers and f4, f8 become floats. y is (n), integers, finite floats, or texts (S
 * and U, which become UTF-8); of a regression (n) or (n,k). feature_names.txt, where it is there,
 * names the columns of (n,F), a line each. X_*.npy of u1 or f4 and 1 GiB and more are mapped, and
 * have no limit.
 *
 * Errors: HR_E_FORMAT with file, found and expected. Threads: none.
 * Test: tests/unit/formats/test_npy.c
 */
#ifndef HR_FORMATS_NPY_H
#define HR_FORMATS_NPY_H

#include <stdbool.h>

#include "base/error.h"
#include "data/labels.h"
#include "data/table.h"

#define HR_NPY_MAGIC "\x93NUMPY"
enum { HR_NPY_MAGIC_BYTES = 6, HR_NPY_MAX_DIMS = 4, HR_NPY_MAX_HEADER = 10000 };

/* A view of an array in memory. */
struct hr_npy {
    char kind;   /* b u i f; S U */
    size_t item; /* bytes of an element: 1, 2, 4, 8; of texts any */
    bool swapped;
    size_t ndim, shape[HR_NPY_MAX_DIMS];
    size_t count;        /* product of shape */
    const uint8_t *data; /* (count * item), not aligned */
};

/* Look at `bytes` bytes; every size is checked. *out is written on success. */
HR_CHECKED enum hr_status hr_npy_parse(const char *name, const void *memory, size_t bytes,
                                       struct hr_npy *out);

/* The header alone: *begin bytes before the elements, which may be missing. */
HR_CHECKED enum hr_status hr_npy_parse_head(const char *name, const void *memory, size_t bytes,
                                            struct hr_npy *npy, size_t *begin);
/* Are there as many elements in the bytes behind it? Sets npy->count. */
HR_CHECKED enum hr_status hr_npy_check_size(const char *name, struct hr_npy *npy, size_t there);
/* (n,F), (n,H,W) or (n,C,H,W) */
struct hr_shape hr_npy_shape(const struct hr_npy *npy);

/* Of a matrix (rows, columns), borrowed. */
static inline struct hr_npy hr_npy_of_reals(const void *values, size_t item, size_t rows,
                                            size_t columns)
{
    return (struct hr_npy){.kind = 'f',
                           .item = item,
                           .ndim = 2,
                           .shape = {rows, columns},
                           .count = rows * columns,
                           .data = values};
}
static inline struct hr_npy hr_npy_of_floats(const float *values, size_t rows, size_t columns)
{
    return hr_npy_of_reals(values, sizeof *values, rows, columns);
}
static inline struct hr_npy hr_npy_of_doubles(const double *values, size_t rows, size_t columns)
{
    return hr_npy_of_reals(values, sizeof *values, rows, columns);
}
/* Write one (1 or 2 dimensions, not swapped) as a file of version 1.0, replaced as a whole. */
HR_CHECKED enum hr_status hr_npy_write(const char *path, const struct hr_npy *npy);

/* Features of a table that is free of them, and its labels; freed by the caller whatever
 * the outcome. */
HR_CHECKED enum hr_status hr_npy_take_features(const char *name, const struct hr_npy *npy,
                                               struct hr_table *table);
HR_CHECKED enum hr_status hr_npy_take_labels(const char *name, const struct hr_npy *npy,
                                             struct hr_labels *labels, struct hr_table *table);

/* Element i, of rows of so many, is no finite number. */
HR_CHECKED enum hr_status hr_npy_fail_number(const char *name, size_t i, size_t of_row,
                                             double value);

#endif
