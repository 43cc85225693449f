/* An owner's log: buffered, streamed into a part file of its own. */
#include "trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file.h"
#include "trace/trace_layout.h"

enum hr_status hr_trace_last_init(struct hr_trace_last *last, size_t nranks)
{
    *last = (struct hr_trace_last){.nranks = nranks};
    last->step = malloc(nranks * sizeof *last->step);
    if (!last->step)
        return hr_fail(HR_E_NOMEM, "no memory for the steps of %zu ranks", nranks);
    hr_trace_last_reset(last);
    return HR_OK;
}

void hr_trace_last_reset(struct hr_trace_last *last)
{
    for (size_t rank = 0; rank < last->nranks; rank++)
        last->step[rank] = UINT64_MAX; /* one more is step 0 */
    memset(last->value, 0, sizeof last->value);
}

enum hr_status hr_trace_part_path(char out[HR_PATH_MAX], const char *path, size_t owner)
{
    return hr_path(out, "%s.part%zu", path, owner);
}

static void log_free(struct hr_trace_log *log)
{
    if (log->fd >= 0)
        close(log->fd);
    free(log->buffer);
    free(log->path);
    free(log->last.step);
    *log = (struct hr_trace_log){.fd = -1};
}

static enum hr_status log_allocate(struct hr_trace_log *log, const char *path, size_t nranks)
{
    log->path = strdup(path);
    log->buffer = malloc(HR_TRACE_BUFFER + HR_TRACE_ENTRY_MAX);
    HR_TRY(hr_trace_last_init(&log->last, nranks));
    return log->path && log->buffer ? HR_OK
                                    : hr_fail(HR_E_NOMEM, "%s: no memory for its buffer", path);
}

/* Owner 0's part is there already: the launcher holds its lock. */
static enum hr_status log_create(struct hr_trace_log *log)
{
    const int how = log->owner == 0 ? O_TRUNC : O_CREAT | O_EXCL;
    log->fd = open(log->path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | how, 0644);
    return log->fd >= 0 ? HR_OK : hr_fail_errno(HR_E_IO, "%s: cannot be created", log->path);
}

enum hr_status hr_trace_log_open(struct hr_trace_log *log, const char *path, size_t owner,
                                 size_t nranks)
{
    char part[HR_PATH_MAX];
    enum hr_status st;
    HR_ASSERT(owner < HR_TRACE_OWNERS && nranks > 0 && nranks <= HR_TRACE_RANKS);
    *log = (struct hr_trace_log){.fd = -1, .owner = (uint32_t)owner};
    HR_TRY(hr_trace_part_path(part, path, owner));
    HR_TRY_GOTO(log_allocate(log, part, nranks), st, out);
    HR_TRY_GOTO(log_create(log), st, out);
    memcpy(log->buffer, HR_TRACE_PART_MAGIC, HR_TRACE_MAGIC_BYTES);
    log->used = HR_TRACE_MAGIC_BYTES;
    return HR_OK;
out:
    log_free(log);
    return st;
}

void hr_trace_log_flush(struct hr_trace_log *log)
{
    const unsigned char *from = log->buffer;
    size_t left = log->used;
    log->used = 0;
    while (left > 0 && !log->error) {
        const ssize_t written = write(log->fd, from, left);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            log->error = written < 0 ? errno : EIO;
            break;
        }
        from += written;
        left -= (size_t)written;
        log->bytes += (uint64_t)written;
    }
}

/* The end of a part: it tells the launcher size and completeness. */
static void append_end(struct hr_trace_log *log)
{
    struct hr_trace_part_end end = {
        .log = {.owner = log->owner,
                .nranks = (uint32_t)log->last.nranks,
                .entries = log->entries,
                .bytes = log->bytes - HR_TRACE_MAGIC_BYTES},
    };
    memcpy(end.magic, HR_TRACE_DONE_MAGIC, sizeof end.magic);
    memcpy(log->buffer, &end, sizeof end);
    log->used = sizeof end;
}

static enum hr_status fail_to_write(const struct hr_trace_log *log)
{
    uint64_t free_bytes = 0;
    char folder[HR_PATH_MAX];
    const bool full = log->error == ENOSPC || log->error == EDQUOT;
    if (full && hr_path_parent(folder, log->path) == HR_OK &&
        hr_folder_free_bytes(folder, &free_bytes) == HR_OK)
        return hr_fail(HR_E_IO,
                       "%s: %s after %llu bytes of the trace, %llu free: nothing was recorded",
                       log->path, strerror(log->error), (unsigned long long)log->bytes,
                       (unsigned long long)free_bytes);
    errno = log->error;
    return hr_fail_errno(HR_E_IO, "%s: cannot be written beyond %llu bytes: nothing was recorded",
                         log->path, (unsigned long long)log->bytes);
}

enum hr_status hr_trace_log_close(struct hr_trace_log *log)
{
    hr_trace_log_flush(log);
    append_end(log);
    hr_trace_log_flush(log);
    /* Never close again after EINTR: the descriptor is closed by then. */
    if (close(log->fd) != 0 && errno != EINTR && !log->error)
        log->error = errno;
    log->fd = -1;
    const enum hr_status status = log->error ? fail_to_write(log) : HR_OK;
    log_free(log);
    return status;
}
