#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/inputs.h"
#include "base/pipe.h"
#include "base/signals.h"

/* errno of a call that needed space, as a sentence: a full disk says how much is missing. */
static enum hr_status fail_for_space(const struct hr_file_writer *writer)
{
    const int cause = errno;
    struct statvfs fs;
    struct rlimit limit;
    if ((cause == ENOSPC || cause == EDQUOT) && statvfs(writer->path, &fs) == 0)
        return hr_fail(HR_E_IO, "%s: %s: %zu bytes needed, %llu free", writer->path,
                       strerror(cause), writer->bytes,
                       (unsigned long long)fs.f_bavail * fs.f_frsize);
    if (cause == EFBIG && getrlimit(RLIMIT_FSIZE, &limit) == 0)
        return hr_fail(HR_E_IO, "%s: %s: %zu bytes needed, the limit (ulimit -f) is %llu",
                       writer->path, strerror(cause), writer->bytes,
                       (unsigned long long)limit.rlim_cur);
    errno = cause;
    return hr_fail_errno(HR_E_IO, "%s: cannot write %zu bytes", writer->path, writer->bytes);
}

/* Where the file system cannot reserve, the writes find out. */
static bool reserve(int fd, size_t bytes)
{
    int cause;
    do {
        cause = bytes ? posix_fallocate(fd, 0, (off_t)bytes) : 0;
    } while (cause == EINTR);
    errno = cause;
    return cause == 0 || cause == EOPNOTSUPP || cause == EINVAL;
}

/* On error nothing is left. */
static enum hr_status take_space(struct hr_file_writer *writer)
{
    if (reserve(writer->fd, writer->bytes))
        return HR_OK;
    const enum hr_status status = fail_for_space(writer);
    hr_file_abandon(writer);
    return status;
}

enum hr_status hr_file_create(struct hr_file_writer *writer, const char *path, size_t bytes)
{
    *writer = (struct hr_file_writer){.path = path, .bytes = bytes};
    HR_TRY(hr_input_spare(path));
    writer->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (writer->fd < 0)
        return hr_fail_errno(HR_E_IO, "%s: cannot be created", path);
    hr_leftover_add(path);
    return take_space(writer);
}

/* --- replacing --- */

enum hr_status hr_file_check_regular(const char *path)
{
    struct stat there;
    if (stat(path, &there) != 0 || S_ISREG(there.st_mode))
        return HR_OK;
    return hr_fail(HR_E_IO, "%s: is no regular file, and only such a one is replaced", path);
}

static bool never_waits(const struct stat *there)
{
    return S_ISREG(there->st_mode) || S_ISCHR(there->st_mode) || S_ISDIR(there->st_mode);
}

static enum hr_status fail_as_waiting(const char *path)
{
    return hr_fail(HR_E_IO, "%s: is no regular file, and a reader of it could stop the run", path);
}

enum hr_status hr_file_check_unblocked(const char *path)
{
    struct stat there;
    return stat(path, &there) != 0 || never_waits(&there) ? HR_OK : fail_as_waiting(path);
}

enum hr_status hr_file_open_unblocked(const char *path, int flags, int *fd)
{
    struct stat there;
    *fd = -1;
    HR_TRY(hr_file_check_unblocked(path));
    HR_TRY(hr_input_spare(path));
    *fd = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
    if (*fd < 0)
        return hr_fail_errno(HR_E_IO, "%s", path);
    if (fstat(*fd, &there) == 0 && never_waits(&there) &&
        fcntl(*fd, F_SETFL, flags & O_APPEND) == 0)
        return HR_OK;
    close(*fd);
    *fd = -1;
    return fail_as_waiting(path);
}

/* A name that nobody else uses: numbers are tried until O_EXCL succeeds. */
static enum hr_status open_temporary(struct hr_file_writer *writer)
{
    enum { MAX_TRIES = 100 };
    HR_TRY(hr_path_place(writer->path, writer->place));
    for (int i = 0; i < MAX_TRIES; i++) {
        HR_TRY(hr_path(writer->temporary, "%s.%ld.%d.tmp", writer->place, (long)getpid(), i));
        writer->fd = open(writer->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (writer->fd >= 0) {
            hr_leftover_add(writer->temporary);
            return HR_OK;
        }
        if (errno != EEXIST)
            return hr_fail_errno(HR_E_IO, "%s: cannot be written", writer->path);
    }
    return hr_fail(HR_E_IO, "%s: no name is left for a temporary file beside it", writer->path);
}

static enum hr_status fail_for_folder(const char *path)
{
    return hr_fail(HR_E_IO, "%s: is a folder", path);
}

enum hr_status hr_file_check_writable(const char *path)
{
    char place[HR_PATH_MAX], folder[HR_PATH_MAX], inside[HR_PATH_MAX];
    struct stat there;
    const bool exists = stat(path, &there) == 0;
    if (exists && S_ISDIR(there.st_mode))
        return fail_for_folder(path);
    HR_TRY(hr_path_place(path, place));
    HR_TRY(hr_path_parent(folder, place));
    HR_TRY(hr_path(inside, "%s/.", folder)); /* access fails where this is no folder */
    const bool replaced = !exists || S_ISREG(there.st_mode);
    if (access(replaced ? inside : place, W_OK) == 0)
        return HR_OK;
    return hr_fail_errno(HR_E_IO, "%s: cannot be written%s", path,
                         replaced ? " into its folder" : "");
}

static enum hr_status fail_to_forget(const char *path)
{
    return hr_fail_errno(HR_E_IO, "%s: what an earlier run left cannot be removed", path);
}

enum hr_status hr_file_forget(const char *path)
{
    struct stat name, file;
    HR_TRY(hr_input_spare(path));
    if (lstat(path, &name) != 0 || stat(path, &file) != 0)
        return errno == ENOENT || errno == ENOTDIR ? HR_OK : fail_to_forget(path);
    if (!S_ISREG(file.st_mode))
        return HR_OK;
    if ((S_ISLNK(name.st_mode) ? truncate(path, 0) : unlink(path)) == 0)
        return HR_OK;
    return fail_to_forget(path);
}

enum hr_status hr_file_replace(struct hr_file_writer *writer, const char *path, size_t bytes)
{
    struct stat there;
    *writer = (struct hr_file_writer){.path = path, .fd = -1, .bytes = bytes};
    const bool exists = stat(path, &there) == 0;
    if (exists && S_ISDIR(there.st_mode))
        return fail_for_folder(path);
    writer->device = exists && !S_ISREG(there.st_mode);
    if (writer->device)
        return hr_pipe_open_write(path, &writer->fd);
    HR_TRY(hr_input_spare(path));
    HR_TRY(open_temporary(writer));
    return take_space(writer);
}

static enum hr_status put_in_place(const struct hr_file_writer *writer)
{
    char folder[HR_PATH_MAX];
    HR_TRY(hr_path_parent(folder, writer->place));
    enum hr_status status = hr_input_spare(writer->place); /* it may be read since */
    const bool placed = status == HR_OK && rename(writer->temporary, writer->place) == 0;
    if (!placed && status == HR_OK)
        status = hr_fail_errno(HR_E_IO, "%s: cannot be replaced", writer->path);
    if (!placed)
        unlink(writer->temporary);
    hr_leftover_forget(writer->temporary);
    return placed ? hr_folder_sync(folder) : status;
}

/* --- all writers --- */

static void remove_unfinished(const struct hr_file_writer *writer)
{
    const char *name = writer->temporary[0] ? writer->temporary : writer->path;
    if (writer->device)
        return;
    unlink(name);
    hr_leftover_forget(name);
}

enum hr_status hr_file_write(struct hr_file_writer *writer, const void *data, size_t n)
{
    const unsigned char *from = data;
    while (n > 0) {
        const ssize_t written = write(writer->fd, from, n);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0 && errno == EAGAIN) {
            HR_TRY(hr_pipe_wait_write(writer->fd, writer->path));
            continue;
        }
        if (written == 0) /* a device that takes nothing: give up */
            errno = EIO;
        if (written <= 0)
            return fail_for_space(writer);
        from += written;
        n -= (size_t)written;
    }
    return HR_OK;
}

bool hr_write_all(int fd, const void *data, size_t n)
{
    for (const char *from = data; n > 0;) {
        const ssize_t written = write(fd, from, n);
        if (written < 0 && errno == EINTR)
            continue;
        if (written == 0)
            errno = EIO;
        if (written <= 0)
            return false;
        from += written;
        n -= (size_t)written;
    }
    return true;
}

enum hr_status hr_file_finish(struct hr_file_writer *writer)
{
    enum hr_status status = HR_OK;
    if (!writer->device && fsync(writer->fd) != 0) /* devices and FIFOs cannot be synced */
        status = hr_fail_errno(HR_E_IO, "%s: cannot be synced", writer->path);
    /* Never close again after EINTR: on Linux the descriptor is closed by then, and another thread
     * may have got its number. */
    if (close(writer->fd) != 0 && errno != EINTR && status == HR_OK)
        status = hr_fail_errno(HR_E_IO, "%s: cannot be closed", writer->path);
    writer->fd = -1;
    if (status != HR_OK)
        remove_unfinished(writer);
    else if (writer->temporary[0])
        return put_in_place(writer);
    else
        hr_leftover_forget(writer->path);
    return status;
}

void hr_file_abandon(struct hr_file_writer *writer)
{
    if (writer->fd < 0)
        return;
    close(writer->fd);
    writer->fd = -1;
    remove_unfinished(writer);
}

static enum hr_status write_all(struct hr_file_writer *writer, const void *data, size_t bytes)
{
    const enum hr_status status = hr_file_write(writer, data, bytes);
    if (status == HR_OK)
        return hr_file_finish(writer);
    hr_file_abandon(writer);
    return status;
}

enum hr_status hr_file_write_durably(const char *path, const void *data, size_t bytes)
{
    struct hr_file_writer writer;
    HR_TRY(hr_file_create(&writer, path, bytes));
    return write_all(&writer, data, bytes);
}

enum hr_status hr_file_replace_durably(const char *path, const void *data, size_t bytes)
{
    struct hr_file_writer writer;
    HR_TRY(hr_file_replace(&writer, path, bytes));
    return write_all(&writer, data, bytes);
}

/* --- reading --- */

static _Thread_local bool unreadable;

bool hr_file_was_unreadable(void)
{
    return unreadable;
}

static enum hr_status open_regular(const char *path, int *fd, struct stat *info)
{
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    unreadable = *fd < 0 && errno != ENOENT && errno != ENOTDIR && errno != ELOOP;
    if (*fd < 0)
        return hr_fail_errno(HR_E_IO, "%s: cannot be opened", path);
    if (fstat(*fd, info) == 0 && S_ISREG(info->st_mode))
        return HR_OK;
    close(*fd);
    return hr_fail(HR_E_IO, "%s: is not a regular file", path);
}

enum hr_status hr_file_open(const char *path, int *fd, size_t *bytes)
{
    struct stat info;
    int opened;
    HR_TRY(open_regular(path, &opened, &info));
    const enum hr_status status = hr_input_add(path, &info);
    if (status != HR_OK) {
        close(opened);
        return status;
    }
    *fd = opened;
    *bytes = (size_t)info.st_size;
    return HR_OK;
}

enum hr_status hr_file_read_at(int fd, const char *path, size_t offset, void *out, size_t bytes)
{
    unsigned char *to = out;
    size_t done = 0;
    while (done < bytes) {
        const ssize_t got = pread(fd, to + done, bytes - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        unreadable = got < 0;
        if (got < 0)
            return hr_fail_errno(HR_E_IO, "%s: cannot be read at byte %zu", path, offset + done);
        if (got == 0)
            return hr_fail(HR_E_IO, "%s: ends at byte %zu, expected %zu", path, offset + done,
                           offset + bytes);
        done += (size_t)got;
    }
    return HR_OK;
}

enum hr_status hr_file_map(int fd, const char *path, size_t bytes, void **map)
{
    void *at = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED && errno == ENOMEM)
        return hr_fail(HR_E_IO,
                       "%s: %zu bytes cannot be mapped: address space is limited (ulimit -v), and "
                       "mapped files count there; --max-memory limits memory alone",
                       path, bytes);
    if (at == MAP_FAILED)
        return hr_fail_errno(HR_E_IO, "%s: %zu bytes cannot be mapped", path, bytes);
    *map = at;
    return HR_OK;
}

static enum hr_status read_all(int fd, const char *path, size_t size, size_t cap, char **text)
{
    enum hr_status status = HR_OK;
    char *content = NULL;
    if (size > cap)
        status = hr_fail(HR_E_FORMAT, "%s: is %zu bytes, at most %zu", path, size, cap);
    else if (!(content = malloc(size + 1)))
        status = hr_fail(HR_E_NOMEM, "%s: no memory for %zu bytes", path, size);
    else
        status = hr_file_read_at(fd, path, 0, content, size);
    close(fd);
    if (status != HR_OK) {
        free(content);
        return status;
    }
    content[size] = 0;
    *text = content;
    return HR_OK;
}

enum hr_status hr_file_read_all(const char *path, size_t cap, char **text, size_t *bytes)
{
    int fd;
    size_t size;
    HR_TRY(hr_file_open(path, &fd, &size));
    HR_TRY(read_all(fd, path, size, cap, text));
    *bytes = size;
    return HR_OK;
}

enum hr_status hr_file_read_own(const char *path, size_t cap, char **text, size_t *bytes)
{
    int fd;
    struct stat info;
    HR_TRY(open_regular(path, &fd, &info));
    HR_TRY(read_all(fd, path, (size_t)info.st_size, cap, text));
    *bytes = (size_t)info.st_size;
    return HR_OK;
}

/* --- folders --- */

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static enum hr_status make_one(const char *path)
{
    char parent[HR_PATH_MAX];
    if (is_folder(path))
        return HR_OK;
    HR_TRY(hr_input_spare(path));
    if (mkdir(path, 0755) != 0) {
        const int cause = errno;
        if (cause == EEXIST && is_folder(path)) /* another process was quicker */
            return HR_OK;
        errno = cause;
        return hr_fail_errno(HR_E_IO, "%s: this folder cannot be made", path);
    }
    HR_TRY(hr_path_parent(parent, path));
    return hr_folder_sync(parent);
}

enum hr_status hr_folder_make(const char *path)
{
    char prefix[HR_PATH_MAX];
    HR_TRY(hr_input_spare(path));
    HR_TRY(hr_path(prefix, "%s", path));
    for (char *at = prefix; *at; at++) {
        if (*at != '/' || at == prefix)
            continue;
        *at = 0;
        HR_TRY(make_one(prefix));
        *at = '/';
    }
    return make_one(prefix);
}

enum hr_status hr_folder_sync(const char *path)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return hr_fail_errno(HR_E_IO, "%s: this folder cannot be opened", path);
    const int result = fsync(fd), cause = errno;
    close(fd);
    /* Some file systems cannot sync a folder and say EINVAL: nothing more can be done there. */
    if (result != 0 && cause != EINVAL) {
        errno = cause;
        return hr_fail_errno(HR_E_IO, "%s: this folder cannot be synced", path);
    }
    return HR_OK;
}

static enum hr_status remove_files(DIR *folder, const char *path)
{
    const struct dirent *entry;
    while ((entry = readdir(folder))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        if (unlinkat(dirfd(folder), entry->d_name, 0) != 0 && errno != ENOENT)
            return hr_fail_errno(HR_E_IO, "%s/%s: cannot be removed", path, entry->d_name);
    }
    return HR_OK;
}

enum hr_status hr_folder_remove(const char *path)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && (errno == ENOTDIR || errno == ELOOP) && unlink(path) == 0)
        return HR_OK;
    if (fd < 0)
        return errno == ENOENT ? HR_OK : hr_fail_errno(HR_E_IO, "%s: cannot be removed", path);
    DIR *folder = fdopendir(fd);
    if (!folder) {
        close(fd);
        return hr_fail(HR_E_NOMEM, "%s: no memory to list this folder", path);
    }
    const enum hr_status status = remove_files(folder, path);
    closedir(folder);
    HR_TRY(status);
    if (rmdir(path) != 0 && errno != ENOENT)
        return hr_fail_errno(HR_E_IO, "%s: this folder cannot be removed", path);
    return HR_OK;
}

enum hr_status hr_folder_free_bytes(const char *path, uint64_t *bytes)
{
    struct statvfs fs;
    if (statvfs(path, &fs) != 0)
        return hr_fail_errno(HR_E_IO, "%s: free space cannot be asked for", path);
    *bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
    return HR_OK;
}

void hr_file_find_key(const char *path, const char *key, char separator, char *value, size_t size)
{
    char line[1024];
    FILE *file = fopen(path, "re");
    value[0] = '\0';
    while (file && !value[0] && fgets(line, sizeof line, file)) {
        char *behind = strchr(line, separator);
        if (strncmp(line, key, strlen(key)) != 0 || !behind)
            continue;
        behind += 1 + strspn(behind + 1, " \t\"");
        behind[strcspn(behind, "\"\n")] = '\0';
        snprintf(value, size, "%s", behind);
    }
    if (file)
        fclose(file);
}
