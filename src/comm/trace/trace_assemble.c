/* The launcher's side of a trace: takes the name, and puts the owners' parts together. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "base/file.h"
#include "base/inputs.h"
#include "trace/trace.h"
#include "trace/trace_layout.h"

enum { COPY_BYTES = 64 << 10 };

/* --- the name */

/* Is it a part of an earlier run: empty, or with our magic? Anything else is somebody's file. */
static bool is_part(int fd)
{
    char magic[HR_TRACE_MAGIC_BYTES];
    struct stat info;
    return fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
           (info.st_size == 0 || (pread(fd, magic, sizeof magic, 0) == (ssize_t)sizeof magic &&
                                  !memcmp(magic, HR_TRACE_PART_MAGIC, sizeof magic)));
}

static bool is_named(int fd, const char *part)
{
    struct stat open_file, named;
    return fstat(fd, &open_file) == 0 && lstat(part, &named) == 0 &&
           open_file.st_ino == named.st_ino && open_file.st_dev == named.st_dev;
}

static enum hr_status open_and_lock(const char *part, int *fd)
{
    *fd = open(part, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0644);
    if (*fd < 0)
        return hr_fail_errno(HR_E_IO, "%s: cannot be created", part);
    if (flock(*fd, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK
                   ? hr_fail(HR_E_IO, "%s: another run records there; expected a name of its own",
                             part)
                   : hr_fail_errno(HR_E_IO, "%s: cannot be locked", part);
    if (!is_part(*fd))
        return hr_fail(HR_E_IO, "%s: is not a part of a trace, and is in the way", part);
    return HR_OK;
}

/* Between open and lock the earlier run may have removed the file: try again. */
static enum hr_status take_lock(const char *part, int *fd)
{
    for (;;) {
        const enum hr_status status = open_and_lock(part, fd);
        if (status == HR_OK && is_named(*fd, part))
            return HR_OK;
        if (*fd >= 0)
            close(*fd);
        *fd = -1;
        HR_TRY(status);
    }
}

/* Remove the parts of a killed run, which may have had more owners. Files that are no parts stay;
 * one with the name of an owner's part stops the run. */
static enum hr_status remove_stale(const char *path, size_t nowners)
{
    char part[HR_PATH_MAX];
    for (size_t owner = 1; owner < HR_TRACE_OWNERS; owner++) {
        HR_TRY(hr_trace_part_path(part, path, owner));
        const int fd = open(part, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        const bool stale = fd >= 0 && is_part(fd);
        if (fd >= 0)
            close(fd);
        if (!stale && owner >= nowners)
            break;
        if (stale && unlink(part) != 0)
            return hr_fail_errno(HR_E_IO, "%s: cannot be removed", part);
        if (!stale && (fd >= 0 || errno != ENOENT))
            return hr_fail(HR_E_IO, "%s: is not a part of a trace, and is in the way", part);
    }
    return HR_OK;
}

enum hr_status hr_trace_begin(struct hr_trace_recording *recording, const char *path,
                              size_t nowners)
{
    char part[HR_PATH_MAX];
    HR_ASSERT(nowners > 0 && nowners <= HR_TRACE_OWNERS);
    *recording = (struct hr_trace_recording){
        .path = path, .nowners = nowners, .version = HR_TRACE_VERSION, .lock = -1};
    HR_TRY(hr_file_check_regular(path));
    HR_TRY(hr_input_spare(path));
    HR_TRY(hr_trace_part_path(part, path, 0));
    HR_TRY(take_lock(part, &recording->lock));
    const enum hr_status status = remove_stale(path, nowners);
    if (status != HR_OK) {
        unlink(part);
        close(recording->lock);
        recording->lock = -1;
    }
    return status;
}

enum hr_status hr_trace_part_take(const struct hr_trace_recording *recording, size_t owner,
                                  size_t bytes, void **part)
{
    char path[HR_PATH_MAX];
    HR_ASSERT(owner > 0 && owner < recording->nowners); /* the first one's has the lock */
    HR_TRY(hr_trace_part_path(path, recording->path, owner));
    const int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_CREAT | O_EXCL, 0644);
    if (fd < 0)
        return hr_fail_errno(HR_E_IO, "%s: cannot be created", path);
    errno = posix_fallocate(fd, 0, (off_t)bytes); /* else to write beyond what there is kills */
    *part = errno ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    const enum hr_status status =
        *part == MAP_FAILED
            ? hr_fail_errno(HR_E_IO, "%s: no room for %zu bytes of the trace", path, bytes)
            : HR_OK;
    close(fd);
    return status;
}

void hr_trace_abandon(struct hr_trace_recording *recording)
{
    char part[HR_PATH_MAX];
    if (recording->lock < 0)
        return;
    for (size_t owner = recording->nowners; owner-- > 0;) /* the one with the lock last */
        if (hr_trace_part_path(part, recording->path, owner) == HR_OK)
            unlink(part);
    close(recording->lock);
    recording->lock = -1;
}

/* --- the file */

struct assembly {
    struct hr_file_writer writer;
    XXH3_state_t *hash;
    const struct hr_trace_recording *recording;
    struct hr_trace_log_head *log; /* (nowners) */
};

static enum hr_status put(struct assembly *assembly, const void *data, size_t bytes)
{
    XXH3_128bits_update(assembly->hash, data, bytes);
    return hr_file_write(&assembly->writer, data, bytes);
}

static enum hr_status read_end(int fd, const char *part, size_t bytes, size_t owner,
                               struct hr_trace_log_head *log)
{
    struct hr_trace_part_end end = {.log = {0}};
    const size_t around = HR_TRACE_MAGIC_BYTES + sizeof end;
    if (bytes >= around)
        HR_TRY(hr_file_read_at(fd, part, bytes - sizeof end, &end, sizeof end));
    if (memcmp(end.magic, HR_TRACE_DONE_MAGIC, sizeof end.magic) != 0 || end.log.owner != owner ||
        end.log.bytes != bytes - around)
        return hr_fail(HR_E_IO,
                       "%s: this log was not finished: its owner was lost, or could not "
                       "write; there is no trace",
                       part);
    *log = end.log;
    return HR_OK;
}

/* How long each log is, and their sum. */
static enum hr_status measure_parts(struct assembly *assembly, size_t *total)
{
    char part[HR_PATH_MAX];
    for (size_t owner = 0; owner < assembly->recording->nowners; owner++) {
        int fd;
        size_t bytes;
        HR_TRY(hr_trace_part_path(part, assembly->recording->path, owner));
        HR_TRY(hr_file_open(part, &fd, &bytes));
        const enum hr_status status = read_end(fd, part, bytes, owner, &assembly->log[owner]);
        close(fd);
        HR_TRY(status);
        *total += sizeof(struct hr_trace_log_head) + (size_t)assembly->log[owner].bytes;
    }
    return HR_OK;
}

static enum hr_status copy_log(struct assembly *assembly, int fd, const char *part, size_t bytes)
{
    static const size_t from = HR_TRACE_MAGIC_BYTES;
    unsigned char buffer[COPY_BYTES];
    for (size_t done = 0; done < bytes;) {
        const size_t n = bytes - done < sizeof buffer ? bytes - done : sizeof buffer;
        HR_TRY(hr_file_read_at(fd, part, from + done, buffer, n));
        HR_TRY(put(assembly, buffer, n));
        done += n;
    }
    return HR_OK;
}

static enum hr_status put_section(struct assembly *assembly, size_t owner)
{
    const struct hr_trace_log_head *log = &assembly->log[owner];
    char part[HR_PATH_MAX];
    int fd;
    size_t bytes;
    HR_TRY(hr_trace_part_path(part, assembly->recording->path, owner));
    HR_TRY(put(assembly, log, sizeof *log));
    HR_TRY(hr_file_open(part, &fd, &bytes));
    const enum hr_status status = copy_log(assembly, fd, part, (size_t)log->bytes);
    close(fd);
    return status;
}

static enum hr_status put_all(struct assembly *assembly, const char *header, const char *trailer)
{
    struct hr_trace_file_head head = {
        .version = assembly->recording->version,
        .nowners = (uint32_t)assembly->recording->nowners,
        .header_bytes = strlen(header),
        .trailer_bytes = strlen(trailer),
    };
    XXH128_canonical_t digest;
    memcpy(head.magic, HR_TRACE_MAGIC, sizeof head.magic);
    HR_TRY(put(assembly, &head, sizeof head));
    HR_TRY(put(assembly, header, strlen(header)));
    for (size_t owner = 0; owner < assembly->recording->nowners; owner++)
        HR_TRY(put_section(assembly, owner));
    HR_TRY(put(assembly, trailer, strlen(trailer)));
    XXH128_canonicalFromHash(&digest, XXH3_128bits_digest(assembly->hash));
    return hr_file_write(&assembly->writer, &digest, sizeof digest);
}

static enum hr_status write_file(struct assembly *assembly, const char *header, const char *trailer)
{
    size_t total = sizeof(struct hr_trace_file_head) + HR_TRACE_DIGEST_BYTES + strlen(header) +
                   strlen(trailer);
    HR_TRY(measure_parts(assembly, &total));
    HR_TRY(hr_file_replace(&assembly->writer, assembly->recording->path, total));
    const enum hr_status status = put_all(assembly, header, trailer);
    if (status == HR_OK)
        return hr_file_finish(&assembly->writer);
    hr_file_abandon(&assembly->writer);
    return status;
}

enum hr_status hr_trace_assemble(struct hr_trace_recording *recording, const char *header,
                                 const char *trailer)
{
    struct assembly assembly = {.recording = recording};
    enum hr_status status;
    HR_ASSERT(strlen(header) <= HR_TRACE_TEXT_MAX && strlen(trailer) <= HR_TRACE_TEXT_MAX);
    assembly.hash = XXH3_createState();
    assembly.log = calloc(recording->nowners, sizeof *assembly.log);
    if (assembly.hash && assembly.log) {
        XXH3_128bits_reset(assembly.hash);
        status = write_file(&assembly, header, trailer);
    } else {
        status = hr_fail(HR_E_NOMEM, "%s: no memory to assemble the trace", recording->path);
    }
    XXH3_freeState(assembly.hash);
    free(assembly.log);
    hr_trace_abandon(recording);
    return status;
}
