/* inputs.h - what this process reads of its user's, so that it writes over none of it.
 *
 *     hr_input_add(path, &info)       whoever opens a file, or lists a folder, that was asked for
 *     hr_input_named(value, folders)  a value that may name files which are read later
 *     hr_input_spare(path)            before anything is opened for writing, or takes a name
 *
 * Files are known by device and inode, whatever they are called: another spelling, a symbolic or a
 * hard link. In a folder that is read as data there is to be nothing new either. Every open for
 * reading, and every output, of base/file.h, base/pipe.h and data/gzip_stream.h comes by here; what
 * a program wrote itself and reads back it takes out again (hr_input_release).
 *
 * Memory:  some 150 bytes per file; files of a folder that is here are not kept one by one.
 * Threads: any.
 * Test:    tests/unit/base/test_inputs.c, tests/cli/inputs.bats
 */
#ifndef HR_BASE_INPUTS_H
#define HR_BASE_INPUTS_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"

/* From now on what is read is remembered: the command does so. Without this nothing is: a program
 * that uses the library may well write over what it has read. */
void hr_inputs_remember(void);

/* It is read; info: of what was opened. What is neither a regular file nor a folder is not kept.
 * HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_input_add(const char *path, const struct stat *info);
/* A folder that is read as data, by its name; where there is none nothing happens. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_input_add_folder(const char *path);

/* All of a value that names a regular file: as a whole, or a piece, as in "trace:FILE". `folders`:
 * as a whole it may also name a folder of data. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_input_named(const char *value, bool folders);

/* It is our own, and may be written over. */
void hr_input_release(const char *path);

/* HR_E_USAGE: what is written to `path` would take the place of what is read, or lie in a folder
 * that is read as data. Of a folder: it is read as data, or would be made inside of one. */
HR_CHECKED enum hr_status hr_input_spare(const char *path);

#endif
