#include "drive/roll.h"

#include <stdlib.h>

#include "server/server_requests.h"
#include "drive/record.h"

/* --- written --- */

static void append(const struct hr_drive *drive, const struct hr_trace_entry *entry)
{
    struct hr_trace_log *log = hr_record_roll(drive);
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
    append(drive, &(struct hr_trace_entry){HR_ROLL_AT, (uint32_t)rank, 0, value, 0});
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

void hr_roll_lost(const struct hr_drive *drive, size_t rank)
{
    const struct hr_shared_state *shared = drive->job->shared;
    const bool worker = rank < shared->workers;
    struct hr_trace_entry entry = {.kind = HR_ROLL_LOST, .rank = (uint32_t)rank};
    if (!hr_record_roll(drive))
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

void hr_roll_back(const struct hr_drive *drive, size_t rank)
{
    append(drive, &(struct hr_trace_entry){.kind = HR_ROLL_BACK, .rank = (uint32_t)rank});
}

/* All workers rest, and owners have taken what they sent. */
static void at_servers(const struct hr_drive *drive)
{
    const struct hr_shared_state *shared = drive->job->shared;
    for (size_t s = 0; hr_record_roll(drive) && s < shared->servers; s++) {
        hr_trace_log_mend(hr_record_log(drive, s)); /* whoever wrote it may be dead */
        at_server(drive, s, entries_of(drive, s));
    }
}

void hr_roll_cut(const struct hr_drive *drive, bool halts)
{
    at_servers(drive);
    append(drive, &(struct hr_trace_entry){.kind = HR_ROLL_CUT,
                                           .value = 2 * drive->leader->cuts.cut->index + halts,
                                           .duration_ns = since_begin_ns(drive)});
}

void hr_roll_over(const struct hr_drive *drive)
{
    append(drive, &(struct hr_trace_entry){.kind = HR_ROLL_OVER});
}

void hr_roll_term(const struct hr_drive *drive, uint64_t index, uint64_t again)
{
    at_servers(drive);
    append(drive, &(struct hr_trace_entry){.kind = HR_ROLL_TERM, .step = again, .value = index});
}

/* --- read --- */

void hr_roll_free(struct hr_roll *roll)
{
    free(roll->event);
    free(roll->place);
    *roll = (struct hr_roll){0};
}

/* What the log says, into memory that has room for all of it. */
static enum hr_status take_all(struct hr_trace_cursor *cursor, struct hr_roll *roll)
{
    const struct hr_trace_entry *entry;
    const struct hr_roll_place *at = roll->place;
    size_t places = 0;
    roll->over = SIZE_MAX;
    for (; (entry = hr_trace_peek(cursor)); hr_trace_next(cursor)) {
        switch (entry->kind) {
        case HR_ROLL_AT:
            roll->place[places++] = (struct hr_roll_place){entry->rank, entry->value};
            break;
        case HR_ROLL_LOST:
        case HR_ROLL_BACK:
        case HR_ROLL_CUT:
        case HR_ROLL_TERM:
            roll->event[roll->n++] =
                (struct hr_roll_event){.kind = (enum hr_roll_kind)entry->kind,
                                       .rank = entry->rank,
                                       .step = entry->step,
                                       .value = entry->value,
                                       .at = at,
                                       .n = (size_t)(roll->place + places - at)};
            at = roll->place + places;
            break;
        case HR_ROLL_OVER:
            roll->over = roll->n;
            break;
        default:
            return hr_fail(HR_E_FORMAT,
                           "the launcher's log has an entry of kind %u, expected 0 to %d",
                           entry->kind, HR_ROLL_OVER);
        }
    }
    return HR_OK;
}

enum hr_status hr_roll_read(const struct hr_trace *trace, struct hr_roll *roll)
{
    const size_t owner = trace->nowners - 1;
    const uint64_t entries = trace->owner[owner].entries; /* no more than bytes: checked */
    struct hr_trace_cursor cursor;
    *roll = (struct hr_roll){.event = calloc(entries + 1, sizeof *roll->event),
                             .place = calloc(entries + 1, sizeof *roll->place)};
    enum hr_status status = roll->event && roll->place
                                ? hr_trace_cursor_open(&cursor, trace, owner)
                                : hr_fail(HR_E_NOMEM, "no memory for the launcher's log");
    if (status == HR_OK) {
        status = take_all(&cursor, roll);
        hr_trace_cursor_close(&cursor);
    }
    if (status != HR_OK)
        hr_roll_free(roll);
    return status;
}
