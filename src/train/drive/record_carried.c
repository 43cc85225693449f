#include "drive/record_carried.h"

#include <string.h>
#include <sys/mman.h>

struct note {
    uint64_t owner, bytes;
};

static void drop(struct hr_record_part *part)
{
    if (part->memory)
        munmap(part->memory, part->bytes);
    *part = (struct hr_record_part){0};
}

void hr_record_drop_parts(struct hr_recorder *recorder)
{
    for (size_t owner = 0; owner < HR_MAX_RANKS; owner++)
        drop(&recorder->part[owner]);
}

/* --- machine 0 --- */

static enum hr_status make_room(struct hr_drive *drive, const struct note *note)
{
    struct hr_recorder *recorder = drive->recorder;
    if (note->owner >= recorder->nowners || note->owner >= HR_MAX_RANKS || !note->bytes ||
        hr_record_is_here(drive->job->shared, note->owner) || recorder->part[note->owner].memory)
        return hr_fail(HR_E_FAILED, "%s: another machine sends a log that is none of its",
                       drive->job->options->record);
    void *memory;
    HR_TRY(hr_trace_part_take(&recorder->file, note->owner, note->bytes, &memory));
    recorder->part[note->owner] = (struct hr_record_part){memory, note->bytes};
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

void hr_record_listen(struct hr_drive *drive, struct hr_carrier *carrier, size_t channel)
{
    const struct hr_wire_sink sink = {drive, place, arrived};
    hr_carrier_listen(carrier, channel, &sink);
}

/* --- others --- */

enum hr_status hr_record_bring(struct hr_drive *drive, struct hr_carrier *carrier, size_t channel)
{
    struct hr_recorder *recorder = drive->recorder;
    for (size_t owner = 0; recorder && owner < drive->job->shared->servers; owner++) {
        struct hr_record_part *part = &recorder->part[owner];
        void *memory;
        if (!recorder->log[owner].tail) /* it is elsewhere */
            continue;
        hr_trace_log_mend(&recorder->log[owner]);
        HR_TRY(hr_trace_log_take(&recorder->log[owner], &memory, &part->bytes));
        part->memory = memory;
        const struct note note = {owner, part->bytes};
        HR_TRY(hr_carrier_post(carrier, 0, channel, &note, sizeof note, memory, part->bytes, NULL,
                               NULL));
    }
    return HR_OK;
}
