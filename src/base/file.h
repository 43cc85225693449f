/* file.h - files that are there after a power cut: written whole, synced, every result checked.
 *
 *     struct hr_file_writer w;
 *     HR_TRY(hr_file_create(&w, path, bytes));           takes the space at once: early "disk full"
 *     HR_TRY_GOTO(hr_file_write(&w, data, n), st, out);  as often as needed, `bytes` in all
 *     return hr_file_finish(&w);                         fsync, close
 *     out: hr_file_abandon(&w);                          close, remove
 *
 * A name is durable only when the folder that holds it was synced too (hr_folder_sync).
 *
 * Threads: none of this is shared; different files may be used from different threads.
 * Errors:  HR_E_IO with path and cause; for a full disk bytes needed and free.
 * Test:    tests/base/test_file.c
 */
#ifndef HR_BASE_FILE_H
#define HR_BASE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { HR_PATH_MAX = 4096 };

/* out = the formatted path. HR_E_USAGE when it does not fit. */
HR_CHECKED enum hr_status hr_path(char out[HR_PATH_MAX], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* out = the folder that holds path: "a/b" -> "a", "b" -> ".", "/b" -> "/". */
HR_CHECKED enum hr_status hr_path_parent(char out[HR_PATH_MAX], const char *path);

struct hr_file_writer {
    const char *path; /* borrowed until finish or abandon */
    int fd;
    size_t bytes; /* what the file will hold, for messages */
};

/* Make a new file (0644; HR_E_IO when the name is taken, by a symlink too) of `bytes`, with its
 * space taken where the file system can do that. On error nothing is left. */
HR_CHECKED enum hr_status hr_file_create(struct hr_file_writer *writer, const char *path,
                                         size_t bytes);

/* Append n bytes. On error the caller abandons the file. */
HR_CHECKED enum hr_status hr_file_write(struct hr_file_writer *writer, const void *data, size_t n);

/* Sync and close. The descriptor is closed in any case; on error the file is removed, never synced
 * again: after a failed fsync the kernel may have dropped the pages. */
HR_CHECKED enum hr_status hr_file_finish(struct hr_file_writer *writer);
void hr_file_abandon(struct hr_file_writer *writer);

/* The four calls above for a file that is in memory already. */
HR_CHECKED enum hr_status hr_file_write_durably(const char *path, const void *data, size_t bytes);

/* place = the file that `path` stands for, behind its symlinks, to write a temporary file next to
 * and publish it there. HR_E_IO when it is there and no regular file: to rename over a device or a
 * FIFO would take it from everybody else. */
HR_CHECKED enum hr_status hr_file_place(const char *path, char place[HR_PATH_MAX]);

/* The finished file `temporary` takes the place of what is there, and its name is made durable.
 * On error the temporary file is removed. */
HR_CHECKED enum hr_status hr_file_publish(const char *temporary, const char *place);

/* Open a regular file for reading (a FIFO would block, so anything else is refused) and tell its
 * size. The caller closes fd. */
HR_CHECKED enum hr_status hr_file_open(const char *path, int *fd, size_t *bytes);

/* Exactly `bytes` from `offset`, by pread: a file that shrinks meanwhile is an error,
 * not SIGBUS. */
HR_CHECKED enum hr_status hr_file_read_at(int fd, const char *path, size_t offset, void *out,
                                          size_t bytes);

/* The whole file.
 *   cap    HR_E_FORMAT when it is larger; nothing is allocated then
 *   text   out: free() it; a 0 stands behind the last byte; untouched on error */
HR_CHECKED enum hr_status hr_file_read_all(const char *path, size_t cap, char **text,
                                           size_t *bytes);

/* Make path and the parents that are missing (0755); new names are synced. */
HR_CHECKED enum hr_status hr_folder_make(const char *path);

/* Make the names in a folder durable. */
HR_CHECKED enum hr_status hr_folder_sync(const char *path);

/* Remove a folder and the files in it, or the file or symlink of that name. Folders inside are an
 * error. Nothing there: HR_OK. */
HR_CHECKED enum hr_status hr_folder_remove(const char *path);

/* Bytes that this user can still write below path. */
HR_CHECKED enum hr_status hr_folder_free_bytes(const char *path, uint64_t *bytes);

#endif
