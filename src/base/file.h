/* file.h - files that are there after a power cut: written whole, synced, every result checked.
 *
 *     struct hr_file_writer w;
 *     HR_TRY(hr_file_create(&w, path, bytes));           takes the space at once: early "disk full"
 *     HR_TRY_GOTO(hr_file_write(&w, data, n), st, out);  as often as needed, `bytes` in all
 *     return hr_file_finish(&w);                         fsync, close
 *     out: hr_file_abandon(&w);                          close, remove
 *
 * hr_file_replace instead of hr_file_create: readers see the old file or the new one, never a part.
 *
 * What is opened for reading here is never written over here: HR_E_USAGE (inputs.h).
 *
 * A name is durable only when the folder that holds it was synced too (hr_folder_sync).
 *
 * Threads: none of this is shared; different files may be used from different threads.
 * Errors:  HR_E_IO with path and cause; for a full disk bytes needed and free.
 * Test:    tests/unit/base/test_file.c
 */
#ifndef HR_BASE_FILE_H
#define HR_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/path.h"

struct hr_file_writer {
    const char *path; /* borrowed until finish or abandon */
    int fd;
    size_t bytes; /* what the file will hold, for messages; 0: not known */
    bool device;  /* path is an existing file that is not regular */
    char temporary[HR_PATH_MAX], place[HR_PATH_MAX]; /* of hr_file_replace, else "" */
};

/* Make a new file (0644; HR_E_IO when the name is taken, by a symlink too) of `bytes`, with its
 * space taken where the file system can do that. On error nothing is left. */
HR_CHECKED enum hr_status hr_file_create(struct hr_file_writer *writer, const char *path,
                                         size_t bytes);

/* Begin to replace what `path` stands for, symlinks followed: the new file (0666 less the umask) is
 * written beside it under a name of its own, and finish puts it in place. An existing file that is
 * not regular (/dev/null, a FIFO) is written to directly: a rename would take it away from
 * everybody else. */
HR_CHECKED enum hr_status hr_file_replace(struct hr_file_writer *writer, const char *path,
                                          size_t bytes);

/* HR_E_IO when path exists and is no regular file: for files that are written piece by piece, or
 * make no sense in a device. */
HR_CHECKED enum hr_status hr_file_check_regular(const char *path);

/* HR_E_IO when path is a FIFO or the like, where a write may wait for ever: for files that are
 * written while something else goes on. Devices may be. */
HR_CHECKED enum hr_status hr_file_check_unblocked(const char *path);
/* open() of such a file (flags as there, 0666 less the umask), which never waits. */
HR_CHECKED enum hr_status hr_file_open_unblocked(const char *path, int flags, int *fd);

/* HR_E_IO where hr_file_replace is sure to fail: path is a folder, or its folder does not exist or
 * is not writable. For outputs that are written only after hours. Writes nothing. */
HR_CHECKED enum hr_status hr_file_check_writable(const char *path);

/* Remove an earlier run's output: a regular file is removed, one behind a symlink emptied, anything
 * else left alone. HR_E_IO. */
HR_CHECKED enum hr_status hr_file_forget(const char *path);

/* Append n bytes. On error the caller abandons the file. */
HR_CHECKED enum hr_status hr_file_write(struct hr_file_writer *writer, const void *data, size_t n);

/* As write(2) to an open descriptor, but all of them. False: errno says why. */
bool hr_write_all(int fd, const void *data, size_t n);

/* Sync and close; a replacement is put in place, and its name made durable. The descriptor is
 * closed in any case; on error the file is removed (what it was to replace stays), never synced
 * again: after a failed fsync the kernel may have dropped the pages. */
HR_CHECKED enum hr_status hr_file_finish(struct hr_file_writer *writer);
void hr_file_abandon(struct hr_file_writer *writer);

/* The calls above for a file that is in memory already: a new one, or one to be replaced. */
HR_CHECKED enum hr_status hr_file_write_durably(const char *path, const void *data, size_t bytes);
HR_CHECKED enum hr_status hr_file_replace_durably(const char *path, const void *data, size_t bytes);

/* Open a regular file for reading (a FIFO would block, so anything else is refused) and tell its
 * size. The caller closes fd. */
HR_CHECKED enum hr_status hr_file_open(const char *path, int *fd, size_t *bytes);

/* The last of these two calls of this thread failed since the system could not read, as with EIO or
 * EACCES: what the file holds is not known. It was not that there is none, or that it is short. */
bool hr_file_was_unreadable(void);

/* Exactly `bytes` from `offset`, by pread: a file that shrinks meanwhile is an error,
 * not SIGBUS. */
HR_CHECKED enum hr_status hr_file_read_at(int fd, const char *path, size_t offset, void *out,
                                          size_t bytes);

/* A file that is open, for reading; HR_E_IO also where address space is limited. `map` is out, for
 * munmap. A file that is cut while it is mapped raises SIGBUS where it is read (signals.h). */
HR_CHECKED enum hr_status hr_file_map(int fd, const char *path, size_t bytes, void **map);

/* The value behind `key` and the separator in a file of such lines, without quotes and the blanks
 * before it; "" where there is none, or no such file. */
void hr_file_find_key(const char *path, const char *key, char separator, char *value, size_t size);

/* The whole file.
 *   cap    HR_E_FORMAT when it is larger; nothing is allocated then
 *   text   out: free() it; a 0 stands behind the last byte; untouched on error */
HR_CHECKED enum hr_status hr_file_read_all(const char *path, size_t cap, char **text,
                                           size_t *bytes);

/* The same of a file that is hogring's own, which may be written over (inputs.h). */
HR_CHECKED enum hr_status hr_file_read_own(const char *path, size_t cap, char **text,
                                           size_t *bytes);

/* --- folders --- */

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
