/* trace.h - the trace of an asynchronous run: what every owner took, in its order.
 *
 * The launcher                                  every owner (a thread or a process)
 *     hr_trace_begin(&recording, path, n)
 *                                               hr_trace_log_open(&log, ...)
 *                                               hr_trace_append(&log, &entry)      in its loop
 *                                               hr_trace_log_close(&log)
 *     hr_trace_assemble(&recording, header, trailer)      or hr_trace_abandon(&recording)
 *
 * Who reads: hr_trace_open, hr_trace_cursor_open for each owner, hr_trace_peek, hr_trace_next.
 *
 * Each owner streams its log into FILE.part<owner>; assembling puts them together into FILE, which
 * appears whole or not at all. Parts that a killed run left behind are replaced; two runs that
 * record into one FILE at once are refused (a lock on FILE.part0, held by the launcher).
 *
 * File:      little-endian; varint = LEB128, seven bits per byte, the lowest first.
 *                "HOGTRACE"   8 bytes
 *                u32          version: 1; of a run that outlives ranks 2
 *                u32          nowners
 *                u64          header_bytes
 *                u64          trailer_bytes
 *                header       JSON (configuration, seed, kernels), opaque here
 *                nowners times, in order:
 *                    u32      owner: 0, 1, ...
 *                    u32      nranks: ranks of this log are below that
 *                    u64      entries
 *                    u64      bytes
 *                    entries
 *                trailer      JSON (digest of the result), opaque here
 *                XXH3-128     of all before it, 16 bytes, canonical (big-endian)
 * Entry:     varint   4 x kind + s: s = 0 this rank's step is that of its last entry in this log,
 *                     1 it is one more, 2 a varint follows at the end; before the first, step -1
 *            varint   rank
 *            varint   value - the last value of an entry with the same kind % 16 (first: 0), zigzag
 *            varint   duration_ns
 *            varint   (s = 2) step - last step of the rank, zigzag
 *            Differences wrap at 2^64. A usual entry (small kind, step + 1, 10 ms) is 7 or 8 bytes.
 * Losses:    a run that outlives ranks (--on-loss) has one owner more, the last: its launcher,
 *            whose ranks are workers and servers (drive/record.h); header, trailer have "losses".
 *            Traces of other runs are byte by byte what they were. In version 1 the launcher's log
 *            said other things: such a trace is refused (drive/replay.c).
 * Part:      "HOGTPART", entries, then u32 owner, nranks, u64 entries, bytes, "HOGTDONE".
 * Limits:    HR_TRACE_*, checked before memory is taken.
 * Threads:   a log and a cursor belong to one thread; a trace is const after open.
 * Errors:    writing: HR_E_IO with path and cause, kept in the log until it is closed; reading:
 *            HR_E_FORMAT with one line for whatever is torn, altered or none of ours; HR_E_NOMEM.
 * Test:      tests/unit/trace/test_trace.c, test_trace_attacks.c, tests/fuzz/fuzz_trace.c
 */
#ifndef HR_TRACE_TRACE_H
#define HR_TRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "shm/atom.h"

enum {
    HR_TRACE_VERSION = 1,
    HR_TRACE_VERSION_LOSSES = 4, /* two bits from 1; 2 is of earlier versions */
    HR_TRACE_OWNERS = 4096,
    HR_TRACE_RANKS = 4096,
    HR_TRACE_SLOTS = 16,         /* kinds with a last value of their own */
    HR_TRACE_BUFFER = 64 << 10,  /* bytes between two write(2) */
    HR_TRACE_ENTRY_MAX = 48,     /* no entry takes more bytes */
    HR_TRACE_TEXT_MAX = 16 << 20 /* of header and of trailer */
};

struct hr_trace_entry {
    uint32_t kind; /* the caller's: pull, push, ... */
    uint32_t rank;
    uint64_t step;  /* of this rank */
    uint64_t value; /* batch index, ticket or staleness, by kind */
    uint64_t duration_ns;
};

/* The values that the next entry is written as differences to. */
struct hr_trace_last {
    size_t nranks;
    uint64_t *value; /* (HR_TRACE_SLOTS), and behind them */
    uint64_t *step;  /* (nranks) */
};

/* --- the launcher's side --- */

struct hr_trace_recording {
    const char *path; /* borrowed until assemble or abandon */
    size_t nowners;
    uint32_t version; /* HR_TRACE_VERSION, unless the caller says otherwise before assemble */
    int lock;         /* FILE.part0, open and locked */
};

/* Call before the owners open their logs. HR_E_IO when FILE cannot be written there, or another run
 * records into it; removes the parts of a killed run. */
HR_CHECKED enum hr_status hr_trace_begin(struct hr_trace_recording *recording, const char *path,
                                         size_t nowners);

/* The part of an owner on another machine, (bytes) to be filled and unmapped by the caller before
 * the trace is assembled. HR_E_IO: there is no room for it. */
HR_CHECKED enum hr_status hr_trace_part_take(const struct hr_trace_recording *recording,
                                             size_t owner, size_t bytes, void **part);

/* When all owners have closed their logs: parts into FILE (temporary, sync, rename), then remove
 * them. header and trailer are texts. On error FILE is as it was; the parts are removed in any
 * case. */
HR_CHECKED enum hr_status hr_trace_assemble(struct hr_trace_recording *recording,
                                            const char *header, const char *trailer);

/* Remove the parts: the run failed. */
void hr_trace_abandon(struct hr_trace_recording *recording);

/* --- who reads --- */

struct hr_trace_section {
    size_t nranks;
    uint64_t entries;
    const unsigned char *data; /* (bytes) in the trace's memory */
    size_t bytes;
};

struct hr_trace {
    char *file;             /* owned; NULL after parse */
    char *header, *trailer; /* owned texts */
    uint32_t version;
    size_t nowners;
    struct hr_trace_section *owner; /* (nowners) owned */
};

/* Read a trace and check all of it: digest, sizes, every entry. HR_E_IO, HR_E_FORMAT ("<path>:
 * ..."), HR_E_NOMEM. On error the trace is zeroed. */
HR_CHECKED enum hr_status hr_trace_open(const char *path, struct hr_trace *trace);

/* The same from memory, borrowed until fini; `name` begins messages. */
HR_CHECKED enum hr_status hr_trace_parse(const char *name, const void *data, size_t bytes,
                                         struct hr_trace *trace);

/* Harmless on a zeroed struct. */
void hr_trace_fini(struct hr_trace *trace);

struct hr_trace_cursor {
    const struct hr_trace_section *section;
    const unsigned char *at;
    uint64_t left; /* entries from the one peeked at on */
    struct hr_trace_entry entry;
    struct hr_trace_last last;
};

/* A cursor on the first entry of an owner's log; the trace outlives it. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_trace_cursor_open(struct hr_trace_cursor *cursor,
                                               const struct hr_trace *trace, size_t owner);

/* The entry that the cursor is on, valid until it moves; NULL behind the last. */
static inline const struct hr_trace_entry *hr_trace_peek(const struct hr_trace_cursor *cursor)
{
    return cursor->left ? &cursor->entry : NULL;
}

/* Move to the next entry; at the end, stay. */
void hr_trace_next(struct hr_trace_cursor *cursor);

/* Back to the first. */
void hr_trace_rewind(struct hr_trace_cursor *cursor);

/* Harmless on a zeroed struct. */
void hr_trace_cursor_close(struct hr_trace_cursor *cursor);

/* === an owner's log: what it took, appended ===
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
 * Errors:    HR_E_IO with path and cause, kept in the log until it is closed; HR_E_NOMEM. */

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
