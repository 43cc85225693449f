#include "report/npy_writer.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"

enum { PREAMBLE = 10, HEADER = 128 }; /* a multiple of 64, as NumPy wants it */

/* Magic, version 1.0, the length of what follows, a Python dict, blanks, a newline. */
static void write_header(char header[HEADER], size_t rows, size_t columns)
{
    char dict[HEADER - PREAMBLE];
    memset(header, ' ', HEADER);
    memcpy(header, "\x93NUMPY\x01\x00", 8);
    header[8] = (char)(HEADER - PREAMBLE);
    header[9] = 0;
    const int length =
        snprintf(dict, sizeof dict,
                 "{'descr': '<f4', 'fortran_order': False, 'shape': (%zu, %zu), }", rows, columns);
    memcpy(header + PREAMBLE, dict, (size_t)length);
    header[HEADER - 1] = '\n';
}

enum hr_status hr_npy_write(const char *path, const float *values, size_t rows, size_t columns)
{
    const size_t bytes = rows * columns * sizeof *values;
    struct hr_file_writer file;
    char header[HEADER];
    enum hr_status status;
    write_header(header, rows, columns);
    HR_TRY(hr_file_replace(&file, path, sizeof header + bytes));
    HR_TRY_GOTO(hr_file_write(&file, header, sizeof header), status, out);
    HR_TRY_GOTO(hr_file_write(&file, values, bytes), status, out);
    return hr_file_finish(&file);
out:
    hr_file_abandon(&file);
    return status;
}
