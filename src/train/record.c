#include "train/record.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "hogring/checkpoint.h"
#include "strategy/shared.h"
#include "session/machine_bits.h"
#include "train/trace_text.h"

struct hr_recorder {
    struct hr_trace_recording file;
    char *header; /* owned */
};

size_t hr_record_owners(const struct hr_run *run)
{
    const size_t logs = hr_log_count(&run->shared);
    return logs ? logs : 1;
}

static void forget(struct hr_run *run)
{
    if (run->recorder)
        free(run->recorder->header);
    free(run->recorder);
    run->recorder = NULL;
}

/* Where there are no owners one takes nothing. */
static enum hr_status write_empty_log(const struct hr_run *run)
{
    struct hr_trace_log log;
    HR_TRY(hr_record_open(run, 0, &log));
    return hr_record_close(&log, HR_OK);
}

static enum hr_status begin(struct hr_run *run)
{
    HR_TRY(hr_trace_header_write(run, &run->recorder->header));
    return hr_trace_begin(&run->recorder->file, run->options->record, hr_record_owners(run));
}

enum hr_status hr_record_begin(struct hr_run *run)
{
    if (!run->options->record[0])
        return HR_OK;
    run->recorder = calloc(1, sizeof *run->recorder);
    if (!run->recorder)
        return hr_fail(HR_E_NOMEM, "no memory to record a run");
    const enum hr_status status = begin(run);
    if (status != HR_OK)
        forget(run);
    HR_TRY(status);
    return hr_log_count(&run->shared) ? HR_OK : write_empty_log(run);
}

enum hr_status hr_record_end(struct hr_run *run)
{
    char *trailer;
    if (!run->recorder)
        return HR_OK;
    HR_TRY(hr_trace_trailer_write(run, &trailer));
    const enum hr_status status =
        hr_trace_assemble(&run->recorder->file, run->recorder->header, trailer);
    free(trailer);
    forget(run);
    return status;
}

void hr_record_abandon(struct hr_run *run)
{
    if (run->recorder)
        hr_trace_abandon(&run->recorder->file);
    forget(run);
}

enum hr_status hr_record_open(const struct hr_run *run, size_t owner, struct hr_trace_log *log)
{
    *log = (struct hr_trace_log){0};
    if (!run->recorder)
        return HR_OK;
    return hr_trace_log_open(log, run->options->record, owner, run->shared.workers);
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
