#include "trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/file.h"
#include "base/inputs.h"

/* --- the fixed parts of a trace file and of its parts, as trace.h says --- */

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "trace files are little-endian"
#endif

#define FILE_MAGIC "HOGTRACE"
#define PART_MAGIC "HOGTPART"
#define DONE_MAGIC "HOGTDONE"
enum { MAGIC_BYTES = 8, DIGEST_BYTES = 16 };

struct file_head {
    char magic[MAGIC_BYTES];
    uint32_t version, nowners;
    uint64_t header_bytes, trailer_bytes;
};
_Static_assert(sizeof(struct file_head) == 32, "as trace.h says");

struct log_head {
    uint32_t owner, nranks;
    uint64_t entries, bytes;
};
_Static_assert(sizeof(struct log_head) == 24, "as trace.h says");

/* The end of a part. */
struct part_end {
    struct log_head log;
    char magic[MAGIC_BYTES];
};
_Static_assert(sizeof(struct part_end) == 32, "as trace.h says");

/* === an owner's log: buffered, streamed into a part file of its own === */

/* The differences of a new log, in which no rank has a step yet, in so many bytes of the caller's
 * or in their own. */
static size_t last_bytes(size_t nranks)
{
    return (HR_TRACE_SLOTS + nranks) * sizeof(uint64_t);
}

static void reset_last(struct hr_trace_last *last)
{
    for (size_t rank = 0; rank < last->nranks; rank++)
        last->step[rank] = UINT64_MAX; /* one more is step 0 */
    memset(last->value, 0, HR_TRACE_SLOTS * sizeof *last->value);
}

static void place_last(struct hr_trace_last *last, size_t nranks, void *memory)
{
    *last = (struct hr_trace_last){.nranks = nranks, .value = memory};
    last->step = last->value + HR_TRACE_SLOTS;
    reset_last(last);
}

static enum hr_status init_last(struct hr_trace_last *last, size_t nranks)
{
    void *memory = malloc(last_bytes(nranks));
    if (!memory)
        return hr_fail(HR_E_NOMEM, "no memory for the steps of %zu ranks", nranks);
    place_last(last, nranks, memory);
    return HR_OK;
}

static void free_last(struct hr_trace_last *last)
{
    free(last->value);
    *last = (struct hr_trace_last){0};
}

static enum hr_status part_path(char out[HR_PATH_MAX], const char *path, size_t owner)
{
    return hr_path(out, "%s.part%zu", path, owner);
}

/* --- memory: [tail | last values | buffer] --- */

size_t hr_trace_tail_bytes(size_t nranks)
{
    return sizeof(struct hr_trace_tail) + last_bytes(nranks) + HR_TRACE_BUFFER + HR_TRACE_ENTRY_MAX;
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
    log->buffer = (unsigned char *)(log->tail + 1) + last_bytes(nranks);
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
    HR_TRY(part_path(part, path ? path : "the trace", owner));
    HR_TRY_GOTO(log_allocate(log, tail, part, nranks), st, out);
    HR_TRY_GOTO(log_create(log, path), st, out);
    memcpy(log->buffer, PART_MAGIC, MAGIC_BYTES);
    hr_atom64_store_release(&log->tail->appended, MAGIC_BYTES);
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
    struct part_end end = {
        .log = {.owner = log->owner,
                .nranks = (uint32_t)log->last.nranks,
                .entries = hr_trace_log_entries(log),
                .bytes = bytes - MAGIC_BYTES},
    };
    memcpy(end.magic, DONE_MAGIC, sizeof end.magic);
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

/* === the launcher's side: takes the name, and puts the owners' parts together === */

enum { COPY_BYTES = 64 << 10 };

/* --- the name */

/* Is it a part of an earlier run: empty, or with our magic? Anything else is somebody's file. */
static bool is_part(int fd)
{
    char magic[MAGIC_BYTES];
    struct stat info;
    return fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
           (info.st_size == 0 || (pread(fd, magic, sizeof magic, 0) == (ssize_t)sizeof magic &&
                                  !memcmp(magic, PART_MAGIC, sizeof magic)));
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
        HR_TRY(part_path(part, path, owner));
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
    HR_TRY(part_path(part, path, 0));
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
    HR_TRY(part_path(path, recording->path, owner));
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
        if (part_path(part, recording->path, owner) == HR_OK)
            unlink(part);
    close(recording->lock);
    recording->lock = -1;
}

/* --- the file */

struct assembly {
    struct hr_file_writer writer;
    XXH3_state_t *hash;
    const struct hr_trace_recording *recording;
    struct log_head *log; /* (nowners) */
};

static enum hr_status put(struct assembly *assembly, const void *data, size_t bytes)
{
    XXH3_128bits_update(assembly->hash, data, bytes);
    return hr_file_write(&assembly->writer, data, bytes);
}

static enum hr_status read_end(int fd, const char *part, size_t bytes, size_t owner,
                               struct log_head *log)
{
    struct part_end end = {.log = {0}};
    const size_t around = MAGIC_BYTES + sizeof end;
    if (bytes >= around)
        HR_TRY(hr_file_read_at(fd, part, bytes - sizeof end, &end, sizeof end));
    if (memcmp(end.magic, DONE_MAGIC, sizeof end.magic) != 0 || end.log.owner != owner ||
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
        HR_TRY(part_path(part, assembly->recording->path, owner));
        HR_TRY(hr_file_open(part, &fd, &bytes));
        const enum hr_status status = read_end(fd, part, bytes, owner, &assembly->log[owner]);
        close(fd);
        HR_TRY(status);
        *total += sizeof(struct log_head) + (size_t)assembly->log[owner].bytes;
    }
    return HR_OK;
}

static enum hr_status copy_log(struct assembly *assembly, int fd, const char *part, size_t bytes)
{
    static const size_t from = MAGIC_BYTES;
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
    const struct log_head *log = &assembly->log[owner];
    char part[HR_PATH_MAX];
    int fd;
    size_t bytes;
    HR_TRY(part_path(part, assembly->recording->path, owner));
    HR_TRY(put(assembly, log, sizeof *log));
    HR_TRY(hr_file_open(part, &fd, &bytes));
    const enum hr_status status = copy_log(assembly, fd, part, (size_t)log->bytes);
    close(fd);
    return status;
}

static enum hr_status put_all(struct assembly *assembly, const char *header, const char *trailer)
{
    struct file_head head = {
        .version = assembly->recording->version,
        .nowners = (uint32_t)assembly->recording->nowners,
        .header_bytes = strlen(header),
        .trailer_bytes = strlen(trailer),
    };
    XXH128_canonical_t digest;
    memcpy(head.magic, FILE_MAGIC, sizeof head.magic);
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
    size_t total = sizeof(struct file_head) + DIGEST_BYTES + strlen(header) + strlen(trailer);
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

/* === trace files, read ===
 *
 * Nothing in a file is believed: all of it is checked at open, entries too, so
 * that cursors need not. */

static const size_t largest_file = UINT32_MAX;

/* --- entries */

static bool take_varint(const unsigned char **at, const unsigned char *end, uint64_t *out)
{
    uint64_t value = 0;
    for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
        const uint64_t byte = *(*at)++;
        if (shift == 63 && byte > 1)
            return false;
        value |= (byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = value;
            return true;
        }
    }
    return false;
}

static uint64_t unzigzag(uint64_t coded)
{
    return coded >> 1 ^ -(coded & 1);
}

/* Read the entry at *at and move *at behind it. False: that is no entry. */
static bool take_entry(const unsigned char **at, const unsigned char *end,
                       struct hr_trace_last *last, struct hr_trace_entry *entry)
{
    uint64_t kind, rank, value, steps;
    if (!take_varint(at, end, &kind) || !take_varint(at, end, &rank) ||
        !take_varint(at, end, &value) || !take_varint(at, end, &entry->duration_ns))
        return false;
    steps = kind & 3;
    kind >>= 2;
    if (kind > UINT32_MAX || rank >= last->nranks || steps == 3)
        return false;
    if (steps == 2) {
        if (!take_varint(at, end, &steps))
            return false;
        steps = unzigzag(steps);
    }
    entry->kind = (uint32_t)kind;
    entry->rank = (uint32_t)rank;
    entry->step = last->step[rank] += steps;
    entry->value = last->value[kind % HR_TRACE_SLOTS] += unzigzag(value);
    return true;
}

/* --- cursors */

void hr_trace_next(struct hr_trace_cursor *cursor)
{
    const struct hr_trace_section *section = cursor->section;
    if (cursor->left == 0 || --cursor->left == 0)
        return;
    HR_ASSERT(take_entry(&cursor->at, section->data + section->bytes, &cursor->last,
                         &cursor->entry)); /* as hr_trace_open found */
}

void hr_trace_rewind(struct hr_trace_cursor *cursor)
{
    reset_last(&cursor->last);
    cursor->at = cursor->section->data;
    cursor->left = cursor->section->entries + (cursor->section->entries > 0);
    hr_trace_next(cursor); /* on the first */
}

enum hr_status hr_trace_cursor_open(struct hr_trace_cursor *cursor, const struct hr_trace *trace,
                                    size_t owner)
{
    HR_ASSERT(owner < trace->nowners);
    *cursor = (struct hr_trace_cursor){.section = &trace->owner[owner]};
    HR_TRY(init_last(&cursor->last, cursor->section->nranks));
    hr_trace_rewind(cursor);
    return HR_OK;
}

void hr_trace_cursor_close(struct hr_trace_cursor *cursor)
{
    free_last(&cursor->last);
    *cursor = (struct hr_trace_cursor){0};
}

/* --- files */

struct reader {
    const char *name;
    const unsigned char *data, *at, *end; /* end of what the digest covers */
    struct hr_trace *trace;
};

#define COMPLAIN(reader, format, ...)                                                              \
    hr_fail(HR_E_FORMAT, "%s: byte %zu: " format, (reader)->name,                                  \
            (size_t)((reader)->at - (reader)->data), __VA_ARGS__)

static size_t left(const struct reader *reader)
{
    return (size_t)(reader->end - reader->at);
}

static enum hr_status check_digest(const struct reader *reader)
{
    XXH128_canonical_t found;
    XXH128_canonicalFromHash(&found,
                             XXH3_128bits(reader->data, (size_t)(reader->end - reader->data)));
    if (memcmp(&found, reader->end, sizeof found) != 0)
        return hr_fail(HR_E_FORMAT,
                       "%s: this trace is torn or was altered: its digest is not that of its "
                       "content",
                       reader->name);
    return HR_OK;
}

static enum hr_status read_head(struct reader *reader, size_t bytes, struct file_head *head)
{
    if (bytes < MAGIC_BYTES || memcmp(reader->data, FILE_MAGIC, MAGIC_BYTES) != 0)
        return hr_fail(HR_E_FORMAT, "%s: is no trace: expected it to begin with %s", reader->name,
                       FILE_MAGIC);
    if (bytes < sizeof *head + DIGEST_BYTES)
        return hr_fail(HR_E_FORMAT, "%s: this trace is torn: %zu bytes, expected at least %zu",
                       reader->name, bytes, sizeof *head + DIGEST_BYTES);
    memcpy(head, reader->data, sizeof *head);
    if (head->version != HR_TRACE_VERSION && head->version != HR_TRACE_VERSION_LOSSES)
        return hr_fail(
            HR_E_FORMAT,
            "%s: is a trace of version %u, expected %d or %d: another version of hogring made it",
            reader->name, head->version, HR_TRACE_VERSION, HR_TRACE_VERSION_LOSSES);
    reader->end = reader->data + bytes - DIGEST_BYTES;
    reader->at = reader->data + sizeof *head;
    return check_digest(reader);
}

/* `bytes` bytes of text, copied. */
static enum hr_status take_text(struct reader *reader, uint64_t bytes, const char *what, char **out)
{
    if (bytes > left(reader) || bytes > HR_TRACE_TEXT_MAX)
        return COMPLAIN(reader, "a %s of %llu bytes, expected at most %zu", what,
                        (unsigned long long)bytes, left(reader));
    if (memchr(reader->at, 0, bytes))
        return COMPLAIN(reader, "the %s holds a zero byte, expected text", what);
    if (!(*out = malloc(bytes + 1)))
        return hr_fail(HR_E_NOMEM, "%s: no memory for its %s", reader->name, what);
    memcpy(*out, reader->at, bytes);
    (*out)[bytes] = '\0';
    reader->at += bytes;
    return HR_OK;
}

static enum hr_status check_entries(struct reader *reader, const struct hr_trace_section *section)
{
    const unsigned char *end = section->data + section->bytes;
    struct hr_trace_last last = {0};
    struct hr_trace_entry entry;
    HR_TRY(init_last(&last, section->nranks));
    uint64_t n = 0;
    while (n < section->entries && take_entry(&reader->at, end, &last, &entry))
        n++;
    free_last(&last);
    if (n < section->entries)
        return COMPLAIN(reader, "no entry, expected number %llu of %llu", (unsigned long long)n,
                        (unsigned long long)section->entries);
    return reader->at == end ? HR_OK
                             : COMPLAIN(reader, "expected no more than %llu entries",
                                        (unsigned long long)section->entries);
}

static enum hr_status take_section(struct reader *reader, size_t owner)
{
    struct log_head head;
    if (left(reader) < sizeof head)
        return COMPLAIN(reader, "expected the log of owner %zu", owner);
    memcpy(&head, reader->at, sizeof head);
    if (head.owner != owner || head.nranks < 1 || head.nranks > HR_TRACE_RANKS)
        return COMPLAIN(reader,
                        "a log of owner %u with %u ranks, expected owner %zu, 1 to %d ranks",
                        head.owner, head.nranks, owner, HR_TRACE_RANKS);
    if (head.bytes > left(reader) - sizeof head)
        return COMPLAIN(reader, "a log of %llu bytes, expected at most %zu",
                        (unsigned long long)head.bytes, left(reader) - sizeof head);
    reader->at += sizeof head;
    struct hr_trace_section *section = &reader->trace->owner[owner];
    *section = (struct hr_trace_section){.nranks = head.nranks,
                                         .entries = head.entries,
                                         .data = reader->at,
                                         .bytes = (size_t)head.bytes};
    return check_entries(reader, section);
}

static enum hr_status take_sections(struct reader *reader, size_t nowners)
{
    struct hr_trace *trace = reader->trace;
    if (nowners < 1 || nowners > HR_TRACE_OWNERS)
        return COMPLAIN(reader, "%zu owners, expected 1 to %d", nowners, HR_TRACE_OWNERS);
    trace->nowners = nowners;
    if (!(trace->owner = calloc(nowners, sizeof *trace->owner)))
        return hr_fail(HR_E_NOMEM, "%s: no memory for %zu owners", reader->name, nowners);
    for (size_t owner = 0; owner < nowners; owner++)
        HR_TRY(take_section(reader, owner));
    return HR_OK;
}

static enum hr_status parse(struct reader *reader, size_t bytes)
{
    struct file_head head;
    HR_TRY(read_head(reader, bytes, &head));
    reader->trace->version = head.version;
    HR_TRY(take_text(reader, head.header_bytes, "header", &reader->trace->header));
    HR_TRY(take_sections(reader, head.nowners));
    HR_TRY(take_text(reader, head.trailer_bytes, "trailer", &reader->trace->trailer));
    return left(reader) == 0
               ? HR_OK
               : COMPLAIN(reader, "%zu bytes behind the trailer, expected none", left(reader));
}

enum hr_status hr_trace_parse(const char *name, const void *data, size_t bytes,
                              struct hr_trace *trace)
{
    struct reader reader = {.name = name, .data = data, .at = data, .trace = trace};
    *trace = (struct hr_trace){0};
    const enum hr_status status = parse(&reader, bytes);
    if (status != HR_OK)
        hr_trace_fini(trace);
    return status;
}

enum hr_status hr_trace_open(const char *path, struct hr_trace *trace)
{
    char *file;
    size_t bytes;
    *trace = (struct hr_trace){0};
    HR_TRY(hr_file_read_all(path, largest_file, &file, &bytes));
    const enum hr_status status = hr_trace_parse(path, file, bytes, trace);
    if (status == HR_OK)
        trace->file = file;
    else
        free(file);
    return status;
}

void hr_trace_fini(struct hr_trace *trace)
{
    free(trace->file);
    free(trace->header);
    free(trace->trailer);
    free(trace->owner);
    *trace = (struct hr_trace){0};
}
