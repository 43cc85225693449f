#include "metrics/appender.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/size.h"

enum { MUCH = 1 << 16 };
static const int64_t PATIENCE_NS = 10 * HR_NS_PER_SECOND;

/* --- locks --- */

/* Bytes of the file, there or not, that stand for what is locked. */
enum what { PIECES, WHOLE_FILE };
enum taken { TAKEN, HELD, NO_LOCKS };

/* A lock for writing, of the open file: forked processes share it, and it ends with the last. One
 * for reading is of somebody who may read the file, and no writer's: it is in nobody's way. */
static enum taken take(int fd, enum what what)
{
    const struct flock request = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = what, .l_len = 1};
    struct flock lock = request;
    if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
        return TAKEN;
    if (errno == EINTR)
        return HELD;
    if (errno != EAGAIN && errno != EACCES)
        return NO_LOCKS;
    lock = request;
    return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_RDLCK ? TAKEN : HELD;
}

static void give_back(int fd, enum what what)
{
    struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = what, .l_len = 1};
    (void)!fcntl(fd, F_OFD_SETLK, &lock);
}

/* Where the file system has no locks all is taken. */
static bool try_lock(int fd, int64_t until_ns)
{
    while (take(fd, PIECES) == HELD) {
        if (hr_clock_ns() >= until_ns)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    return true;
}

static enum hr_status open_to_append(const char *path, int *fd)
{
    return hr_file_open_unblocked(path, O_WRONLY | O_APPEND | O_CREAT, fd);
}

/* Is it still the file of its name? Another may have been put in its place. */
static bool is_in_place(int fd, struct stat *about)
{
    return fstat(fd, about) == 0 && about->st_nlink > 0;
}

/* Locked, the file that stands at the path: *fd may become another. HR_E_TIMEOUT, HR_E_IO. */
static enum hr_status lock_in_place(const char *path, int *fd, int64_t until_ns, struct stat *about)
{
    for (;;) {
        if (!try_lock(*fd, until_ns))
            return hr_fail(HR_E_TIMEOUT, "%s: another process holds its lock", path);
        if (is_in_place(*fd, about))
            return HR_OK;
        close(*fd);
        HR_TRY(open_to_append(path, fd));
    }
}

enum hr_status hr_appender_lock(const char *path, int *fd)
{
    struct stat about;
    HR_TRY(open_to_append(path, fd));
    const enum hr_status status = lock_in_place(path, fd, hr_clock_ns() + PATIENCE_NS, &about);
    if (status != HR_OK && *fd >= 0)
        close(*fd);
    return status;
}

static bool is_named(const char *path, int fd)
{
    struct stat named, opened;
    return stat(path, &named) == 0 && fstat(fd, &opened) == 0 && named.st_ino == opened.st_ino &&
           named.st_dev == opened.st_dev;
}

/* *opened: the file of that name, for which *taken is told. */
static enum hr_status open_to_own(const char *path, int *opened, enum taken *taken)
{
    struct stat about;
    HR_TRY(open_to_append(path, opened));
    const bool file = fstat(*opened, &about) == 0 && S_ISREG(about.st_mode);
    *taken = file ? take(*opened, WHOLE_FILE) : TAKEN;
    if (*taken == NO_LOCKS)
        hr_log(HR_LOG_WARNING,
               "%s: this file system has no locks (%s): nothing keeps a second run out", path,
               strerror(errno));
    return HR_OK;
}

enum hr_status hr_appender_own(const char *path, int *fd)
{
    const int had = *fd;
    enum taken taken = TAKEN;
    while (taken != HELD && (*fd < 0 || !is_named(path, *fd))) {
        if (*fd >= 0 && *fd != had)
            close(*fd);
        HR_TRY(open_to_own(path, fd, &taken));
    }
    if (had >= 0 && *fd != had)
        close(had);
    if (taken != HELD)
        return HR_OK;
    close(*fd);
    *fd = -1;
    return hr_fail(HR_E_IO,
                   "%s: another run writes it now; expected another file, or to wait for its end",
                   path);
}

/* --- writing --- */

void hr_appender_fail(struct hr_appender *file, enum hr_status status)
{
    if (file->status != HR_OK)
        return;
    file->status = status;
    snprintf(file->message, sizeof file->message, "%s", hr_error_message());
    if (!file->silent)
        hr_log(HR_LOG_WARNING, "%s; it ends here, training goes on", file->message);
    file->n = 0;
}

static enum hr_status write_all(const struct hr_appender *file)
{
    for (size_t done = 0; done < file->n;) {
        const ssize_t wrote = write(file->fd, file->kept + done, file->n - done);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return hr_fail_errno(HR_E_IO, "%s", file->path);
        done += (size_t)wrote;
    }
    return HR_OK;
}

/* To a regular file: all of it or nothing. */
static enum hr_status append(struct hr_appender *file, int64_t until_ns)
{
    struct stat about;
    if (fstat(file->fd, &about) == 0 && !S_ISREG(about.st_mode))
        return write_all(file);
    HR_TRY(lock_in_place(file->path, &file->fd, until_ns, &about));
    const enum hr_status status = write_all(file);
    if (status != HR_OK && ftruncate(file->fd, about.st_size) != 0)
        hr_log(HR_LOG_WARNING, "%s: its last line may be torn", file->path);
    give_back(file->fd, PIECES);
    return status;
}

static void flush_until(struct hr_appender *file, int64_t until_ns, bool last)
{
    if (!file->open || file->n == 0 || file->status != HR_OK)
        return;
    const enum hr_status status = append(file, until_ns);
    if (status == HR_E_TIMEOUT && !last)
        return;
    if (status != HR_OK)
        hr_appender_fail(file, status);
    file->n = 0;
}

void hr_appender_flush(struct hr_appender *file)
{
    flush_until(file, 0, false);
}

enum hr_status hr_appender_open(struct hr_appender *file, const char *path)
{
    *file = (struct hr_appender){.fd = -1};
    if (snprintf(file->path, sizeof file->path, "%s", path) >= (int)sizeof file->path)
        return hr_fail(HR_E_USAGE, "%s: too long for a path", path);
    HR_TRY(open_to_append(path, &file->fd));
    file->open = true;
    return HR_OK;
}

static bool make_room(struct hr_appender *file, size_t bytes)
{
    size_t want;
    if (!hr_size_add(file->n, bytes, &want))
        return false;
    if (want <= file->room)
        return true;
    const size_t room = hr_max_size(2 * file->room, hr_max_size(want, MUCH));
    char *kept = realloc(file->kept, room);
    if (!kept)
        return false;
    file->kept = kept;
    file->room = room;
    return true;
}

void hr_appender_put_parts(struct hr_appender *file, const struct hr_piece_part *parts, size_t n)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += parts[i].bytes;
    if (file->open && file->n + bytes > MUCH)
        hr_appender_flush(file);
    if (!file->open || file->status != HR_OK)
        return;
    if (!make_room(file, bytes)) {
        hr_appender_fail(
            file, hr_fail(HR_E_NOMEM, "%s: no memory for what is to be written", file->path));
        return;
    }
    for (size_t i = 0; i < n; i++) {
        memcpy(file->kept + file->n, parts[i].data, parts[i].bytes);
        file->n += parts[i].bytes;
    }
}

void hr_appender_put(struct hr_appender *file, const void *piece, size_t bytes)
{
    hr_appender_put_parts(file, &(struct hr_piece_part){piece, bytes}, 1);
}

enum hr_status hr_appender_close(struct hr_appender *file)
{
    if (!file->open)
        return HR_OK;
    flush_until(file, hr_clock_ns() + PATIENCE_NS, true);
    if (close(file->fd) != 0 && file->status == HR_OK) /* network file systems tell here */
        hr_appender_fail(file, hr_fail_errno(HR_E_IO, "%s", file->path));
    free(file->kept);
    file->kept = NULL;
    file->open = false;
    return file->status == HR_OK ? HR_OK : hr_fail(file->status, "%s", file->message);
}
