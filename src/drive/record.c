#include "drive/record.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "hogring/checkpoint.h"
#include "strategy/shared.h"
#include "session/machine_bits.h"
#include "drive/trace_text.h"

struct hr_recorder {
    struct hr_trace_recording file;
    char *header; /* owned */
};

size_t hr_record_owners(const struct hr_drive *drive)
{
    const size_t logs = hr_log_count(drive->job->shared);
    return logs ? logs : 1;
}

static void forget(struct hr_drive *drive)
{
    if (drive->recorder)
        free(drive->recorder->header);
    free(drive->recorder);
    drive->recorder = NULL;
}

/* A run without owners has one log, which stays empty. */
static enum hr_status write_empty_log(const struct hr_drive *drive)
{
    struct hr_trace_log log;
    HR_TRY(hr_record_open(drive, 0, &log));
    return hr_record_close(&log, HR_OK);
}

static enum hr_status begin(struct hr_drive *drive)
{
    HR_TRY(hr_trace_header_write(drive, &drive->recorder->header));
    return hr_trace_begin(&drive->recorder->file, drive->job->options->record,
                          hr_record_owners(drive));
}

enum hr_status hr_record_begin(struct hr_drive *drive)
{
    if (!drive->job->options->record[0])
        return HR_OK;
    drive->recorder = calloc(1, sizeof *drive->recorder);
    if (!drive->recorder)
        return hr_fail(HR_E_NOMEM, "no memory to record a run");
    const enum hr_status status = begin(drive);
    if (status != HR_OK)
        forget(drive);
    HR_TRY(status);
    return hr_log_count(drive->job->shared) ? HR_OK : write_empty_log(drive);
}

enum hr_status hr_record_end(struct hr_drive *drive)
{
    char *trailer;
    if (!drive->recorder)
        return HR_OK;
    HR_TRY(hr_trace_trailer_write(drive, &trailer));
    const enum hr_status status =
        hr_trace_assemble(&drive->recorder->file, drive->recorder->header, trailer);
    free(trailer);
    forget(drive);
    return status;
}

void hr_record_abandon(struct hr_drive *drive)
{
    if (drive->recorder)
        hr_trace_abandon(&drive->recorder->file);
    forget(drive);
}

enum hr_status hr_record_open(const struct hr_drive *drive, size_t owner, struct hr_trace_log *log)
{
    *log = (struct hr_trace_log){0};
    if (!drive->recorder)
        return HR_OK;
    return hr_trace_log_open(log, drive->job->options->record, owner, drive->job->shared->workers);
}

enum hr_status hr_record_close(struct hr_trace_log *log, enum hr_status status)
{
    if (!log->buffer)
        return status;
    char message[512];
    snprintf(message, sizeof message, "%s", status == HR_OK ? "" : hr_error_message());
    const enum hr_status closed = hr_trace_log_close(log);
    return status == HR_OK ? closed : hr_fail(status, "%s", message);
}
