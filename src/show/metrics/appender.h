/* appender.h - a file that grows by whole pieces: lines, or records.
 *
 *     hr_appender_open(&file, path)
 *     hr_appender_put(&file, line, n)        kept in memory
 *     hr_appender_flush(&file)               appended to the file, all that is kept, or nothing
 *     hr_appender_close(&file)               HR_OK when all of it is in the file
 *
 *   Whole     Readers see pieces whole, in order: what is flushed is written at the end of the file
 *             under a lock (fcntl's, of an open file), and where that fails in the middle the file
 *             is cut back.
 *   Several   processes may append to one file; one may put another in its place (rename) under the
 *             same lock, and the next flush goes to that.
 *   Failure   The first ends the file: a warning says so, what comes later is dropped, close
 *             returns it. So a file has no gap.
 *   Death     What is flushed outlives the process, not the machine: nothing is synced.
 *
 * Devices and pipes are written to, without a lock, as are files where there are none. A lock that
 * another holds is not waited for: the next flush tries again; close waits up to 10 s.
 *
 * Threads: none.
 * Test:    tests/unit/metrics/test_appender.c
 */
#ifndef HR_METRICS_APPENDER_H
#define HR_METRICS_APPENDER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/path.h"

struct hr_appender {
    bool open;
    int fd;
    char path[HR_PATH_MAX];
    char *kept; /* (room) owned; n of them wait to be written */
    size_t n, room;
    bool silent;           /* a failure is the caller's to tell */
    enum hr_status status; /* of the first failure */
    char message[512];
};

/* Append to `path`, which is made where there is none (0666 less the umask). HR_E_IO. */
HR_CHECKED enum hr_status hr_appender_open(struct hr_appender *file, const char *path);

/* A piece; or one that is made of several parts. Flushed by itself when much is kept. */
struct hr_piece_part {
    const void *data;
    size_t bytes;
};
void hr_appender_put(struct hr_appender *file, const void *piece, size_t bytes);
void hr_appender_put_parts(struct hr_appender *file, const struct hr_piece_part *parts, size_t n);
void hr_appender_flush(struct hr_appender *file);
/* It ends here: its status is this one, with the message that is set. */
void hr_appender_fail(struct hr_appender *file, enum hr_status status);

/* Harmless on a zeroed struct. */
HR_CHECKED enum hr_status hr_appender_close(struct hr_appender *file);

/* Take the file's lock, or try for so long: for who puts another file in its place. The descriptor
 * of what stands at `path` then; closing it gives the lock back. */
HR_CHECKED enum hr_status hr_appender_lock(const char *path, int *fd);

/* The file is this process's, and that of those which it forks, until *fd is closed by all; it is
 * made where there is none. Whoever begins or replaces a file asks for that; appending does not.
 *   fd   -1, or of an earlier call: another file may have taken that one's place since
 * HR_E_IO: it is another's. A device is everybody's; so is a file where there are no locks, and a
 * warning says so. */
HR_CHECKED enum hr_status hr_appender_own(const char *path, int *fd);

#endif
