/* An owner's log: buffered, streamed into a part file of its own. */
#include "trace/trace_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file.h"
#include "trace/trace_layout.h"

static void place_last(struct hr_trace_last *last, size_t nranks, void *memory)
{
    *last = (struct hr_trace_last){.nranks = nranks, .value = memory};
    last->step = last->value + HR_TRACE_SLOTS;
    hr_trace_last_reset(last);
}

enum hr_status hr_trace_last_init(struct hr_trace_last *last, size_t nranks)
{
    void *memory = malloc(hr_trace_last_bytes(nranks));
    if (!memory)
        return hr_fail(HR_E_NOMEM, "no memory for the steps of %zu ranks", nranks);
    place_last(last, nranks, memory);
    return HR_OK;
}

void hr_trace_last_free(struct hr_trace_last *last)
{
    free(last->value);
    *last = (struct hr_trace_last){0};
}

void hr_trace_last_reset(struct hr_trace_last *last)
{
    for (size_t rank = 0; rank < last->nranks; rank++)
        last->step[rank] = UINT64_MAX; /* one more is step 0 */
    memset(last->value, 0, HR_TRACE_SLOTS * sizeof *last->value);
}

enum hr_status hr_trace_part_path(char out[HR_PATH_MAX], const char *path, size_t owner)
{
    return hr_path(out, "%s.part%zu", path, owner);
}

/* --- memory: [tail | last values | buffer] --- */

size_t hr_trace_tail_bytes(size_t nranks)
{
    return sizeof(struct hr_trace_tail) + hr_trace_last_bytes(nranks) + HR_TRACE_BUFFER +
           HR_TRACE_ENTRY_MAX;
}

static void log_free(struct hr_trace_log *log)
{
    if (log->fd >= 0)
        close(log->fd);
    if (log->owned)
        free(log->tail);
    free(log->path);
    *log = (struct hr_trace_log){.fd = -1};
}

static enum hr_status log_allocate(struct hr_trace_log *log, void *tail, const char *path,
                                   size_t nranks)
{
    log->owned = !tail;
    log->tail = tail ? tail : calloc(1, hr_trace_tail_bytes(nranks));
    log->path = strdup(path);
    if (!log->path || !log->tail)
        return hr_fail(HR_E_NOMEM, "%s: no memory for its buffer", path);
    place_last(&log->last, nranks, log->tail + 1);
    log->buffer = (unsigned char *)(log->tail + 1) + hr_trace_last_bytes(nranks);
    return HR_OK;
}

static enum hr_status create_nameless(struct hr_trace_log *log)
{
    const char *folder = getenv("TMPDIR");
    char path[HR_PATH_MAX];
    HR_TRY(hr_path(path, "%s/hogring-trace-XXXXXX", folder && *folder ? folder : "/tmp"));
    log->fd = mkostemp(path, O_CLOEXEC);
    if (log->fd < 0)
        return hr_fail_errno(HR_E_IO, "%s: cannot be created (TMPDIR says where)", path);
    unlink(path);
    return HR_OK;
}

/* Owner 0's part is there already: the launcher holds its lock. */
static enum hr_status log_create(struct hr_trace_log *log, bool named)
{
    if (!named)
        return create_nameless(log);
    const int how = log->owner == 0 ? O_TRUNC : O_CREAT | O_EXCL;
    log->fd = open(log->path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | how, 0644);
    return log->fd >= 0 ? HR_OK : hr_fail_errno(HR_E_IO, "%s: cannot be created", log->path);
}

enum hr_status hr_trace_log_open(struct hr_trace_log *log, void *tail, const char *path,
                                 size_t owner, size_t nranks)
{
    char part[HR_PATH_MAX];
    enum hr_status st;
    HR_ASSERT(owner < HR_TRACE_OWNERS && nranks > 0 && nranks <= HR_TRACE_RANKS);
    *log = (struct hr_trace_log){.fd = -1, .owner = (uint32_t)owner};
    HR_TRY(hr_trace_part_path(part, path ? path : "the trace", owner));
    HR_TRY_GOTO(log_allocate(log, tail, part, nranks), st, out);
    HR_TRY_GOTO(log_create(log, path), st, out);
    memcpy(log->buffer, HR_TRACE_PART_MAGIC, HR_TRACE_MAGIC_BYTES);
    hr_atom64_store_release(&log->tail->appended, HR_TRACE_MAGIC_BYTES);
    return HR_OK;
out:
    log_free(log);
    return st;
}

void hr_trace_log_mend(struct hr_trace_log *log)
{
    struct hr_trace_undo *undo = &log->tail->undo;
    if (!hr_atom32_load_acquire(&undo->open)) /* partner: hr_trace_append, of the dead */
        return;
    log->last.step[undo->rank] = undo->step;
    log->last.value[undo->slot] = undo->value;
    hr_atom64_store_release(&log->tail->appended, undo->appended);
    hr_atom64_store_release(&log->tail->entries, undo->entries);
    hr_atom32_store_release(&undo->open, 0);
}

/* Write bytes [from, end) of the part, or note why not. */
static void write_at(struct hr_trace_log *log, const unsigned char *bytes, uint64_t from,
                     uint64_t end)
{
    while (from < end) {
        const ssize_t written = pwrite(log->fd, bytes, end - from, (off_t)from);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            log->tail->error = written < 0 ? errno : EIO;
            return;
        }
        bytes += written;
        from += (uint64_t)written;
        log->tail->written = from;
    }
}

/* At its place in the file, so that it may be done again where a writer died in it. */
void hr_trace_log_flush(struct hr_trace_log *log)
{
    const uint64_t flushed = hr_atom64_load_relaxed(&log->tail->flushed); /* our own, or mended */
    const uint64_t appended = hr_atom64_load_relaxed(&log->tail->appended);
    if (!log->tail->error)
        write_at(log, log->buffer, flushed, appended);
    hr_atom64_store_release(&log->tail->flushed, appended); /* partner: hr_trace_append */
}

/* The end of a part: it tells the launcher size and completeness. */
static void append_end(struct hr_trace_log *log)
{
    const uint64_t bytes = hr_atom64_load_relaxed(&log->tail->appended);
    struct hr_trace_part_end end = {
        .log = {.owner = log->owner,
                .nranks = (uint32_t)log->last.nranks,
                .entries = hr_trace_log_entries(log),
                .bytes = bytes - HR_TRACE_MAGIC_BYTES},
    };
    memcpy(end.magic, HR_TRACE_DONE_MAGIC, sizeof end.magic);
    memcpy(log->buffer, &end, sizeof end);
    hr_atom64_store_release(&log->tail->appended, bytes + sizeof end);
}

static enum hr_status fail_to_write(const struct hr_trace_log *log)
{
    uint64_t free_bytes = 0;
    char folder[HR_PATH_MAX];
    const bool full = log->tail->error == ENOSPC || log->tail->error == EDQUOT;
    if (full && hr_path_parent(folder, log->path) == HR_OK &&
        hr_folder_free_bytes(folder, &free_bytes) == HR_OK)
        return hr_fail(HR_E_IO,
                       "%s: %s after %llu bytes of the trace, %llu free: nothing was recorded",
                       log->path, strerror(log->tail->error),
                       (unsigned long long)log->tail->written, (unsigned long long)free_bytes);
    errno = log->tail->error;
    return hr_fail_errno(HR_E_IO, "%s: cannot be written beyond %llu bytes: nothing was recorded",
                         log->path, (unsigned long long)log->tail->written);
}

static void end_part(struct hr_trace_log *log)
{
    hr_trace_log_flush(log);
    append_end(log);
    hr_trace_log_flush(log);
}

enum hr_status hr_trace_log_take(struct hr_trace_log *log, void **part, size_t *bytes)
{
    enum hr_status status = HR_OK;
    end_part(log);
    *bytes = (size_t)hr_atom64_load_relaxed(&log->tail->appended); /* our own */
    *part = MAP_FAILED;
    if (log->tail->error)
        status = fail_to_write(log);
    else if ((*part = mmap(NULL, *bytes, PROT_READ, MAP_SHARED, log->fd, 0)) == MAP_FAILED)
        status = hr_fail_errno(HR_E_IO, "%s: cannot be read back", log->path);
    log_free(log);
    return status;
}

enum hr_status hr_trace_log_close(struct hr_trace_log *log)
{
    end_part(log);
    /* Never close again after EINTR: the descriptor is closed by then. */
    if (close(log->fd) != 0 && errno != EINTR && !log->tail->error)
        log->tail->error = errno;
    log->fd = -1;
    const enum hr_status status = log->tail->error ? fail_to_write(log) : HR_OK;
    log_free(log);
    return status;
}
