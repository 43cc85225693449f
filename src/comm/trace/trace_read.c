/* Trace files, read. Nothing in a file is believed: all of it is checked at open, entries too, so
 * that cursors need not. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/file.h"
#include "trace/trace.h"
#include "trace/trace_layout.h"

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
    hr_trace_last_reset(&cursor->last);
    cursor->at = cursor->section->data;
    cursor->left = cursor->section->entries + (cursor->section->entries > 0);
    hr_trace_next(cursor); /* on the first */
}

enum hr_status hr_trace_cursor_open(struct hr_trace_cursor *cursor, const struct hr_trace *trace,
                                    size_t owner)
{
    HR_ASSERT(owner < trace->nowners);
    *cursor = (struct hr_trace_cursor){.section = &trace->owner[owner]};
    HR_TRY(hr_trace_last_init(&cursor->last, cursor->section->nranks));
    hr_trace_rewind(cursor);
    return HR_OK;
}

void hr_trace_cursor_close(struct hr_trace_cursor *cursor)
{
    hr_trace_last_free(&cursor->last);
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

static enum hr_status read_head(struct reader *reader, size_t bytes,
                                struct hr_trace_file_head *head)
{
    if (bytes < HR_TRACE_MAGIC_BYTES ||
        memcmp(reader->data, HR_TRACE_MAGIC, HR_TRACE_MAGIC_BYTES) != 0)
        return hr_fail(HR_E_FORMAT, "%s: is no trace: expected it to begin with %s", reader->name,
                       HR_TRACE_MAGIC);
    if (bytes < sizeof *head + HR_TRACE_DIGEST_BYTES)
        return hr_fail(HR_E_FORMAT, "%s: this trace is torn: %zu bytes, expected at least %zu",
                       reader->name, bytes, sizeof *head + HR_TRACE_DIGEST_BYTES);
    memcpy(head, reader->data, sizeof *head);
    if (head->version != HR_TRACE_VERSION && head->version != HR_TRACE_VERSION_LOSSES)
        return hr_fail(
            HR_E_FORMAT,
            "%s: is a trace of version %u, expected %d or %d: another version of hogring made it",
            reader->name, head->version, HR_TRACE_VERSION, HR_TRACE_VERSION_LOSSES);
    reader->end = reader->data + bytes - HR_TRACE_DIGEST_BYTES;
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
    struct hr_trace_last last;
    struct hr_trace_entry entry;
    HR_TRY(hr_trace_last_init(&last, section->nranks));
    uint64_t n = 0;
    while (n < section->entries && take_entry(&reader->at, end, &last, &entry))
        n++;
    hr_trace_last_free(&last);
    if (n < section->entries)
        return COMPLAIN(reader, "no entry, expected number %llu of %llu", (unsigned long long)n,
                        (unsigned long long)section->entries);
    return reader->at == end ? HR_OK
                             : COMPLAIN(reader, "expected no more than %llu entries",
                                        (unsigned long long)section->entries);
}

static enum hr_status take_section(struct reader *reader, size_t owner)
{
    struct hr_trace_log_head head;
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
    struct hr_trace_file_head head;
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
