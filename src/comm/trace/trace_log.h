/* trace_log.h - an owner's log of a trace: what it took, appended (the file: trace.h).
 *
 *     hr_trace_log_open(&log, tail, path, owner, nranks)
 *     hr_trace_append(&log, &entry)                          by the owner
 *     hr_trace_log_close(&log)
 *
 * What changes as a log grows may lie in memory that outlives its owner (struct hr_trace_tail). An
 * owner may die between any two instructions: hr_trace_log_mend, by whoever finds the log, drops an
 * entry that was being appended. Then another may append, or close it.
 *
 * Threads:   one writer at a time; anybody may ask for the number of entries.
 * Errors:    HR_E_IO with path and cause, kept in the log until it is closed; HR_E_NOMEM.
 * Test:      tests/unit/trace/test_trace.c
 */
#ifndef HR_TRACE_TRACE_LOG_H
#define HR_TRACE_TRACE_LOG_H

#include <stdbool.h>

#include "shm/atom.h"
#include "trace/trace.h"

/* What an entry changes, as it was before; open while it is being appended. */
struct hr_trace_undo {
    struct hr_atom32 open; /* partner: hr_trace_log_mend */
    uint32_t rank, slot;
    uint64_t step, value, appended, entries;
};

/* What changes as a log grows. Behind it lie the last values, and the buffer. */
struct hr_trace_tail {
    struct hr_atom64 appended, flushed; /* bytes of the part; the buffer has those between */
    struct hr_atom64 entries;           /* partner: hr_trace_log_entries */
    struct hr_trace_undo undo;
    uint64_t written; /* bytes that are in the file */
    int error;        /* errno of the first write that failed; what follows is dropped */
};

struct hr_trace_log { /* constant while it is open */
    int fd;
    uint32_t owner;
    char *path; /* of the part, owned */
    struct hr_trace_tail *tail;
    bool owned;            /* the tail is */
    unsigned char *buffer; /* (HR_TRACE_BUFFER + HR_TRACE_ENTRY_MAX) behind the tail */
    struct hr_trace_last last;
};

/* Bytes of a tail, for a log whose ranks are below nranks. */
size_t hr_trace_tail_bytes(size_t nranks);

/* Open FILE.part<owner>; `path` is FILE, or NULL: the launcher is on another machine, and the part
 * is a temporary file without a name (TMPDIR), until hr_trace_log_take. tail: zeroed memory of that
 * size, shared with those who append, or NULL: the log takes its own. On error the log is zeroed.
 */
HR_CHECKED enum hr_status hr_trace_log_open(struct hr_trace_log *log, void *tail, const char *path,
                                            size_t owner, size_t nranks);

/* Who appended is dead: drop the entry that it was appending. */
void hr_trace_log_mend(struct hr_trace_log *log);

/* Write what is buffered; an error is kept in the log. */
void hr_trace_log_flush(struct hr_trace_log *log);

/* Write the rest, close. HR_E_IO when any write of this log failed. */
HR_CHECKED enum hr_status hr_trace_log_close(struct hr_trace_log *log);
/* The same of a part without a name, which is (bytes) mapped until the caller unmaps it; to be
 * brought to hr_trace_part_take. HR_E_IO: then nothing is. */
HR_CHECKED enum hr_status hr_trace_log_take(struct hr_trace_log *log, void **part, size_t *bytes);

/* Entries so far; by anybody. */
static inline uint64_t hr_trace_log_entries(const struct hr_trace_log *log)
{
    return hr_atom64_load_acquire(&log->tail->entries); /* partner: hr_trace_append */
}

static inline unsigned char *hr_trace_put_varint(unsigned char *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (unsigned char)(value | 0x80);
    *at++ = (unsigned char)value;
    return at;
}

/* 0, -1, 1, -2, ... as 0, 1, 2, 3, ... */
static inline uint64_t hr_trace_zigzag(uint64_t difference)
{
    return difference << 1 ^ -(difference >> 63);
}

/* From here to hr_trace_end_entry the log is torn. */
static inline void hr_trace_begin_entry(struct hr_trace_log *log, uint32_t rank, uint32_t slot)
{
    struct hr_trace_undo *undo = &log->tail->undo;
    undo->rank = rank;
    undo->slot = slot;
    undo->step = log->last.step[rank];
    undo->value = log->last.value[slot];
    undo->appended = hr_atom64_load_relaxed(&log->tail->appended); /* our own */
    undo->entries = hr_atom64_load_relaxed(&log->tail->entries);
    hr_atom32_store_release(&undo->open, 1); /* partner: hr_trace_log_mend */
    hr_fence_of_death();
}

static inline void hr_trace_end_entry(struct hr_trace_log *log, uint64_t appended)
{
    hr_atom64_store_release(&log->tail->appended, appended);
    hr_atom64_store_release(&log->tail->entries, log->tail->undo.entries + 1);
    hr_atom32_store_release(&log->tail->undo.open, 0); /* partner: hr_trace_log_mend */
}

/* One more entry, rank < nranks. No system call but a write(2) each HR_TRACE_BUFFER bytes. */
static inline void hr_trace_append(struct hr_trace_log *log, const struct hr_trace_entry *entry)
{
    HR_ASSERT(entry->rank < log->last.nranks);
    const uint32_t slot = entry->kind % HR_TRACE_SLOTS;
    hr_trace_begin_entry(log, entry->rank, slot);
    const uint64_t appended = log->tail->undo.appended;
    const uint64_t used = appended - hr_atom64_load_relaxed(&log->tail->flushed);
    const uint64_t steps = entry->step - log->last.step[entry->rank];
    const unsigned coded = steps < 2 ? (unsigned)steps : 2;
    unsigned char *at = log->buffer + used;
    at = hr_trace_put_varint(at, (uint64_t)entry->kind << 2 | coded);
    at = hr_trace_put_varint(at, entry->rank);
    at = hr_trace_put_varint(at, hr_trace_zigzag(entry->value - log->last.value[slot]));
    at = hr_trace_put_varint(at, entry->duration_ns);
    if (coded == 2)
        at = hr_trace_put_varint(at, hr_trace_zigzag(steps));
    log->last.step[entry->rank] = entry->step;
    log->last.value[slot] = entry->value;
    const size_t now = (size_t)(at - log->buffer);
    hr_trace_end_entry(log, appended - used + now);
    if (now >= HR_TRACE_BUFFER)
        hr_trace_log_flush(log);
}

#endif
