#include "report/npy.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "report/replace.h"

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

static enum hr_status write_all(const struct hr_replace *file, const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes > 0) {
        const ssize_t written = write(file->fd, at, bytes);
        if (written <= 0)
            return hr_fail_errno(HR_E_IO, "%s: cannot be written", file->path);
        at += written;
        bytes -= (size_t)written;
    }
    return HR_OK;
}

enum hr_status hr_npy_write(const char *path, const float *values, size_t rows, size_t columns)
{
    struct hr_replace file;
    char header[HEADER];
    enum hr_status status;
    write_header(header, rows, columns);
    HR_TRY(hr_replace_begin(&file, path));
    HR_TRY_GOTO(write_all(&file, header, sizeof header), status, out);
    HR_TRY_GOTO(write_all(&file, values, rows * columns * sizeof *values), status, out);
    return hr_replace_commit(&file);
out:
    hr_replace_abandon(&file);
    return status;
}
