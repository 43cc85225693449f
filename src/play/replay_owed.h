/* replay_owed.h - of a shard's log, which PULLs were answered by HR_AGAIN: who led the shard had
 * taken them, who spoke for it was lost before it replied (server_replica.h), and their workers
 * waited for weights that others had changed meanwhile.
 *
 * Threads: none.
 * Test:    tests/unit/train/test_replay_losses.c
 */
#ifndef HR_PLAY_REPLAY_OWED_H
#define HR_PLAY_REPLAY_OWED_H

#include <stdbool.h>

#include "base/error.h"
#include "trace/trace.h"

struct hr_replay_owed {
    bool *entry; /* (entries) owned; NULL: none was */
};

/* Of the log of that owner. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_replay_owed_open(struct hr_replay_owed *owed,
                                              const struct hr_trace *trace, size_t owner);
/* Harmless on a zeroed one. */
void hr_replay_owed_close(struct hr_replay_owed *owed);

/* Was the entry that the log's cursor is on answered so? */
static inline bool hr_replay_owed_has(const struct hr_replay_owed *owed,
                                      const struct hr_trace_cursor *log)
{
    return owed->entry && owed->entry[log->section->entries - log->left];
}

#endif
