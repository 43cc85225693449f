/* replay_log.h - a log that a worker writes of its own acts, or repeats (hogwild.c).
 *
 * Threads: private to a worker; the driver sets log and recorded before the worker acts.
 */
#ifndef HR_STRATEGY_REPLAY_LOG_H
#define HR_STRATEGY_REPLAY_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/trace.h"

struct hr_replay_log {
    struct hr_trace_log *log;         /* where it writes; NULL: nowhere */
    struct hr_trace_cursor *recorded; /* what it repeats; NULL: it is free */
    uint64_t until;                   /* entries of that: behind them it dies; 0: all */
    uint64_t moved;                   /* operations so far, so that a driver sees progress */
    bool busy;                        /* in the middle of what it noted, or will note */
    bool beyond;                      /* what is recorded has more batches than the run */
};

/* Behind the last entry of a life stand those of the next one. */
static inline bool hr_replay_log_ends(const struct hr_replay_log *replay)
{
    const struct hr_trace_cursor *log = replay->recorded;
    return log && replay->until && log->section->entries - log->left >= replay->until;
}

#endif
