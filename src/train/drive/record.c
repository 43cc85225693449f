#include "drive/record.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "hogring/checkpoint.h"
#include "strategy/shared.h"
#include "session/machine_bits.h"
#include "drive/record_carried.h"
#include "drive/trace_text.h"

size_t hr_record_owners(const struct hr_drive *drive)
{
    const size_t logs = hr_log_count(drive->job->shared);
    return (logs ? logs : 1) + drive->job->shared->outlives;
}

size_t hr_record_ranks(const struct hr_drive *drive, size_t owner)
{
    const struct hr_train_job *job = drive->job;
    const bool launcher = job->shared->outlives && owner + 1 == hr_record_owners(drive);
    return launcher ? job->first_stage : job->shared->workers;
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

void hr_record_place(struct hr_drive *drive, void *memory)
{
    drive->record_tails = memory;
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

static void forget(struct hr_drive *drive)
{
    if (drive->recorder)
        hr_record_drop_parts(drive->recorder);
    if (drive->recorder)
        free(drive->recorder->header);
    free(drive->recorder);
    drive->recorder = NULL;
    drive->job->shared->logs = NULL;
}

static enum hr_status open_logs(struct hr_drive *drive)
{
    struct hr_recorder *recorder = drive->recorder;
    const char *path = drive->job->shared->homes.self ? NULL : drive->job->options->record;
    for (size_t owner = 0; owner < recorder->nowners; owner++) {
        recorder->nlogs = owner + 1;
        if (!hr_record_is_here(drive->job->shared, owner))
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
    if (drive->job->shared->homes.self) /* the file is machine 0's */
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

struct hr_trace_log *hr_record_roll(const struct hr_drive *drive)
{
    const bool outlives = drive->job->shared->outlives;
    return outlives ? hr_record_log(drive, hr_record_owners(drive) - 1) : NULL;
}
