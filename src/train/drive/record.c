#include "drive/record.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/size.h"
#include "drive/replay.h"
#include "hogring/checkpoint.h"
#include "server/server_worker.h"
#include "session/machine_bits.h"
#include "strategy/shared.h"

/* The part of an owner, on its way from there to here. */
struct part {
    void *memory; /* (bytes) mapped; NULL: none */
    size_t bytes;
};

/* What is open while a run is recorded. */
struct hr_recorder {
    struct hr_trace_recording file; /* machine 0's; on others its lock is -1 */
    char *header;                   /* owned */
    struct part part[HR_MAX_RANKS]; /* by owner: only those of servers are brought */
    size_t nowners;
    size_t nlogs;              /* below that are those that are open, if they have a tail */
    struct hr_trace_log log[]; /* (nowners) */
};

/* Does that owner live on this machine? */
static bool is_here(const struct hr_shared_state *shared, size_t owner)
{
    return owner < shared->servers ? hr_hosts_here(&shared->hosts, hr_shard_rank(shared, owner))
                                   : shared->hosts.self == 0;
}

/* --- memory --- */

static size_t tail_bytes(const struct hr_drive *drive)
{
    return hr_round_up(hr_trace_tail_bytes(drive->job->first_stage), HR_LINE);
}

size_t hr_record_bytes(const struct hr_drive *drive)
{
    return drive->job->options->record[0] ? hr_record_owners(drive) * tail_bytes(drive) : 0;
}

/* --- the launcher --- */

/* All logs that are open; the first error. */
static enum hr_status close_logs(struct hr_recorder *recorder)
{
    enum hr_status status = HR_OK;
    while (recorder->nlogs > 0) {
        struct hr_trace_log *log = &recorder->log[--recorder->nlogs];
        if (!log->tail) /* it is elsewhere, or was taken */
            continue;
        hr_trace_log_mend(log);
        const enum hr_status closed = hr_trace_log_close(log);
        status = closed != HR_OK ? closed : status;
    }
    return status;
}

static void drop(struct part *part)
{
    if (part->memory)
        munmap(part->memory, part->bytes);
    *part = (struct part){0};
}

static void record_drop_parts(struct hr_recorder *recorder)
{
    for (size_t owner = 0; owner < HR_MAX_RANKS; owner++)
        drop(&recorder->part[owner]);
}

static void forget(struct hr_drive *drive)
{
    if (drive->recorder)
        record_drop_parts(drive->recorder);
    if (drive->recorder)
        free(drive->recorder->header);
    free(drive->recorder);
    drive->recorder = NULL;
    drive->job->shared->logs = NULL;
}

static enum hr_status open_logs(struct hr_drive *drive)
{
    struct hr_recorder *recorder = drive->recorder;
    const char *path = drive->job->shared->hosts.self ? NULL : drive->job->options->record;
    for (size_t owner = 0; owner < recorder->nowners; owner++) {
        recorder->nlogs = owner + 1;
        if (!is_here(drive->job->shared, owner))
            continue;
        unsigned char *tail = (unsigned char *)drive->record_tails + owner * tail_bytes(drive);
        HR_TRY(hr_trace_log_open(&recorder->log[owner], tail, path, owner,
                                 hr_record_ranks(drive, owner)));
    }
    if (drive->job->shared->servers)
        drive->job->shared->logs = recorder->log;
    return HR_OK;
}

static enum hr_status begin(struct hr_drive *drive)
{
    struct hr_trace_recording *file = &drive->recorder->file;
    if (drive->job->shared->hosts.self) /* the file is machine 0's */
        return HR_OK;
    HR_TRY(hr_trace_header_write(drive, &drive->recorder->header));
    HR_TRY(hr_trace_begin(file, drive->job->options->record, hr_record_owners(drive)));
    if (drive->job->shared->outlives)
        file->version = HR_TRACE_VERSION_LOSSES;
    return HR_OK;
}

enum hr_status hr_record_begin(struct hr_drive *drive)
{
    const size_t owners = hr_record_owners(drive);
    if (!drive->job->options->record[0])
        return HR_OK;
    drive->recorder = calloc(1, sizeof *drive->recorder + owners * sizeof *drive->recorder->log);
    if (!drive->recorder)
        return hr_fail(HR_E_NOMEM, "no memory to record a run");
    drive->recorder->nowners = owners;
    drive->recorder->file.lock = -1; /* until it is open */
    const enum hr_status status = begin(drive);
    if (status != HR_OK)
        forget(drive);
    HR_TRY(status);
    return open_logs(drive);
}

static enum hr_status assemble(struct hr_drive *drive)
{
    char *trailer;
    HR_TRY(close_logs(drive->recorder));
    HR_TRY(hr_trace_trailer_write(drive, &trailer));
    const enum hr_status status =
        hr_trace_assemble(&drive->recorder->file, drive->recorder->header, trailer);
    free(trailer);
    if (status == HR_OK)
        forget(drive);
    return status;
}

enum hr_status hr_record_end(struct hr_drive *drive)
{
    return drive->recorder ? assemble(drive) : HR_OK;
}

void hr_record_abandon(struct hr_drive *drive)
{
    if (!drive->recorder)
        return;
    hr_trace_abandon(&drive->recorder->file);
    if (drive->stuck) /* a rank still writes */
        return;
    const enum hr_status dropped = close_logs(drive->recorder);
    (void)dropped;
    forget(drive);
}

/* --- an owner --- */

struct hr_trace_log *hr_record_log(const struct hr_drive *drive, size_t owner)
{
    return drive->recorder ? &drive->recorder->log[owner] : NULL;
}

/* The launcher's; NULL: there is none. */
static struct hr_trace_log *record_roll(const struct hr_drive *drive)
{
    const bool outlives = drive->job->shared->outlives;
    return outlives ? hr_record_log(drive, hr_record_owners(drive) - 1) : NULL;
}

struct note {
    uint64_t owner, bytes;
};

/* --- machine 0 --- */

static enum hr_status make_room(struct hr_drive *drive, const struct note *note)
{
    struct hr_recorder *recorder = drive->recorder;
    if (note->owner >= recorder->nowners || note->owner >= HR_MAX_RANKS || !note->bytes ||
        is_here(drive->job->shared, note->owner) || recorder->part[note->owner].memory)
        return hr_fail(HR_E_FAILED, "%s: another machine sends a log that is none of its",
                       drive->job->options->record);
    void *memory;
    HR_TRY(hr_trace_part_take(&recorder->file, note->owner, note->bytes, &memory));
    recorder->part[note->owner] = (struct part){memory, note->bytes};
    return HR_OK;
}

static bool place(void *arg, size_t from, const void *head, size_t head_bytes, size_t body_bytes,
                  void **where)
{
    struct hr_drive *drive = arg;
    struct note note;
    (void)from;
    HR_ASSERT(head_bytes == sizeof note);
    memcpy(&note, head, sizeof note);
    if (!drive->recorder || body_bytes != note.bytes)
        return false;
    const enum hr_status status = make_room(drive, &note);
    if (status != HR_OK) {
        hr_control_abort(drive->job->shared->control, HR_MAX_RANKS, status, hr_error_message());
        return false;
    }
    *where = drive->recorder->part[note.owner].memory;
    return true;
}

/* It is in the file. */
static void arrived(void *arg, size_t from, const void *head, size_t head_bytes)
{
    struct hr_drive *drive = arg;
    struct note note;
    (void)from;
    memcpy(&note, head, head_bytes);
    drop(&drive->recorder->part[note.owner]);
}

void hr_record_listen(struct hr_drive *drive, struct hr_bridge *bridge, size_t channel)
{
    const struct hr_wire_sink sink = {drive, place, arrived};
    hr_bridge_listen(bridge, channel, &sink);
}

/* --- others --- */

enum hr_status hr_record_bring(struct hr_drive *drive, struct hr_bridge *bridge, size_t channel)
{
    struct hr_recorder *recorder = drive->recorder;
    for (size_t owner = 0; recorder && owner < drive->job->shared->servers; owner++) {
        struct part *part = &recorder->part[owner];
        void *memory;
        if (!recorder->log[owner].tail) /* it is elsewhere */
            continue;
        hr_trace_log_mend(&recorder->log[owner]);
        HR_TRY(hr_trace_log_take(&recorder->log[owner], &memory, &part->bytes));
        part->memory = memory;
        const struct note note = {owner, part->bytes};
        HR_TRY(hr_bridge_post(bridge, 0, channel, &note, sizeof note, memory, part->bytes, NULL,
                              NULL));
    }
    return HR_OK;
}

/* --- written --- */

static void append(const struct hr_drive *drive, const struct hr_trace_entry *entry)
{
    struct hr_trace_log *log = record_roll(drive);
    if (log)
        hr_trace_append(log, entry);
}

static uint64_t since_begin_ns(const struct hr_drive *drive)
{
    const int64_t ns = drive->driver->now_ns(drive) - drive->losses.began_ns;
    return ns > 0 ? (uint64_t)ns : 0;
}

static void at_server(const struct hr_drive *drive, size_t shard, uint64_t value)
{
    const size_t rank = hr_shard_rank(drive->job->shared, shard);
    append(drive, &(struct hr_trace_entry){HR_MEMBERSHIP_AT, (uint32_t)rank, 0, value, 0});
}

static uint64_t entries_of(const struct hr_drive *drive, size_t shard)
{
    return hr_trace_log_entries(hr_record_log(drive, shard));
}

/* The dead worker's rings are as it left them. */
static void at_messages(const struct hr_drive *drive, size_t worker)
{
    const struct hr_shared_state *shared = drive->job->shared;
    for (size_t s = 0; s < shared->servers; s++)
        at_server(drive, s, hr_requests_came(shared, worker, s));
}

/* Did the dead server write its shard's log? One that rests, as it does until it has begun, does
 * not. Relaxed: it is dead. */
static bool writes_log(const struct hr_shared_state *shared, size_t rank)
{
    return hr_atom32_load_relaxed(&shared->control->rank[rank].stage) == 0;
}

void hr_record_lost(const struct hr_drive *drive, size_t rank)
{
    const struct hr_shared_state *shared = drive->job->shared;
    const bool worker = rank < shared->workers;
    struct hr_trace_entry entry = {.kind = HR_MEMBERSHIP_LOST, .rank = (uint32_t)rank};
    if (!record_roll(drive))
        return;
    entry.duration_ns = since_begin_ns(drive);
    if (worker) {
        entry.step = shared->stats[rank].steps;
        entry.value = hr_workers_log(shared->strategy) ? entries_of(drive, rank) : 0;
        at_messages(drive, rank);
    } else {
        const size_t shard = rank - shared->workers;
        if (writes_log(shared, rank))
            hr_trace_log_mend(hr_record_log(drive, shard));
        entry.value = entries_of(drive, shard);
    }
    append(drive, &entry);
}

void hr_record_back(const struct hr_drive *drive, size_t rank)
{
    append(drive, &(struct hr_trace_entry){.kind = HR_MEMBERSHIP_BACK, .rank = (uint32_t)rank});
}

/* All workers are quiescent, and owners have taken what they sent. */
static void at_servers(const struct hr_drive *drive)
{
    const struct hr_shared_state *shared = drive->job->shared;
    for (size_t s = 0; record_roll(drive) && s < shared->servers; s++) {
        hr_trace_log_mend(hr_record_log(drive, s)); /* whoever wrote it may be dead */
        at_server(drive, s, entries_of(drive, s));
    }
}

void hr_record_cut(const struct hr_drive *drive, bool halts)
{
    at_servers(drive);
    append(drive, &(struct hr_trace_entry){.kind = HR_MEMBERSHIP_CUT,
                                           .value = 2 * drive->leader->cuts.cut->index + halts,
                                           .duration_ns = since_begin_ns(drive)});
}

void hr_record_over(const struct hr_drive *drive)
{
    append(drive, &(struct hr_trace_entry){.kind = HR_MEMBERSHIP_OVER});
}

void hr_record_term(const struct hr_drive *drive, uint64_t index, uint64_t again)
{
    at_servers(drive);
    append(drive,
           &(struct hr_trace_entry){.kind = HR_MEMBERSHIP_TERM, .step = again, .value = index});
}

/* --- read --- */

void hr_membership_free(struct hr_membership *membership)
{
    free(membership->event);
    free(membership->place);
    *membership = (struct hr_membership){0};
}

/* What the log says, into memory that has room for all of it. */
static enum hr_status take_all(struct hr_trace_cursor *cursor, struct hr_membership *membership)
{
    const struct hr_trace_entry *entry;
    const struct hr_membership_place *at = membership->place;
    size_t places = 0;
    membership->over = SIZE_MAX;
    for (; (entry = hr_trace_peek(cursor)); hr_trace_next(cursor)) {
        switch (entry->kind) {
        case HR_MEMBERSHIP_AT:
            membership->place[places++] = (struct hr_membership_place){entry->rank, entry->value};
            break;
        case HR_MEMBERSHIP_LOST:
        case HR_MEMBERSHIP_BACK:
        case HR_MEMBERSHIP_CUT:
        case HR_MEMBERSHIP_TERM:
            membership->event[membership->n++] =
                (struct hr_membership_event){.kind = (enum hr_membership_kind)entry->kind,
                                             .rank = entry->rank,
                                             .step = entry->step,
                                             .value = entry->value,
                                             .at = at,
                                             .n = (size_t)(membership->place + places - at)};
            at = membership->place + places;
            break;
        case HR_MEMBERSHIP_OVER:
            membership->over = membership->n;
            break;
        default:
            return hr_fail(HR_E_FORMAT,
                           "the launcher's log has an entry of kind %u, expected 0 to %d",
                           entry->kind, HR_MEMBERSHIP_OVER);
        }
    }
    return HR_OK;
}

enum hr_status hr_membership_read(const struct hr_trace *trace, struct hr_membership *membership)
{
    const size_t owner = trace->nowners - 1;
    const uint64_t entries = trace->owner[owner].entries; /* no more than bytes: checked */
    struct hr_trace_cursor cursor;
    *membership = (struct hr_membership){.event = calloc(entries + 1, sizeof *membership->event),
                                         .place = calloc(entries + 1, sizeof *membership->place)};
    enum hr_status status = membership->event && membership->place
                                ? hr_trace_cursor_open(&cursor, trace, owner)
                                : hr_fail(HR_E_NOMEM, "no memory for the launcher's log");
    if (status == HR_OK) {
        status = take_all(&cursor, membership);
        hr_trace_cursor_close(&cursor);
    }
    if (status != HR_OK)
        hr_membership_free(membership);
    return status;
}
