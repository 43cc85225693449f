/* npy_writer.h - a matrix as NumPy saves it (numpy/lib/format.py, version 1.0).
 *
 * Threads: none. Errors: HR_E_IO with the path; the file is there as a whole or not at all.
 * Test: tests/unit/report/test_npy_writer.c
 */
#ifndef HR_REPORT_NPY_WRITER_H
#define HR_REPORT_NPY_WRITER_H

#include <stddef.h>

#include "base/error.h"

/* values (rows, columns), little-endian float32 */
HR_CHECKED enum hr_status hr_npy_write(const char *path, const float *values, size_t rows,
                                       size_t columns);

#endif
