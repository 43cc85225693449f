#include "play/replay_owed.h"

#include <stdlib.h>

#include "server/server.h"

/* A worker sends nothing else before it has its answer: what it is given again is that of its last
 * entry. */
static void mark(struct hr_replay_owed *owed, struct hr_trace_cursor *log, uint64_t *last)
{
    const struct hr_trace_entry *entry;
    for (uint64_t number = 0; (entry = hr_trace_peek(log)); number++, hr_trace_next(log)) {
        if (entry->kind == HR_AGAIN)
            owed->entry[last[entry->rank]] = true;
        last[entry->rank] = number;
    }
}

enum hr_status hr_replay_owed_open(struct hr_replay_owed *owed, const struct hr_trace *trace,
                                   size_t owner)
{
    const struct hr_trace_section *section = &trace->owner[owner];
    struct hr_trace_cursor log;
    uint64_t *last = calloc(section->nranks + 1, sizeof *last);
    owed->entry = calloc(section->entries + 1, sizeof *owed->entry);
    enum hr_status status = last && owed->entry ? hr_trace_cursor_open(&log, trace, owner)
                                                : hr_fail(HR_E_NOMEM, "no memory to read a log");
    if (status == HR_OK) {
        mark(owed, &log, last);
        hr_trace_cursor_close(&log);
    }
    free(last);
    return status;
}

void hr_replay_owed_close(struct hr_replay_owed *owed)
{
    free(owed->entry);
    owed->entry = NULL;
}
