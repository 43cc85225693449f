/* replay_log.h - where workers decide for themselves (hogwild): the log that each writes of its own
 * acts, or repeats.
 *
 *   Noted     a step's values that are no function of the run's inputs.
 *   Repeated  a worker follows its log: it takes these values from it. A log that has another entry
 *             than the one that comes next is of another run.
 *
 * Threads: private to a worker; the driver sets log and recorded before the worker acts.
 */
#ifndef HR_STRATEGY_REPLAY_LOG_H
#define HR_STRATEGY_REPLAY_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/trace.h"

/* Part of the trace format. Entries of a step come in this order; CUT is in the place of a step. */
enum hr_noted {
    HR_NOTED_BATCH,     /* value: its index */
    HR_NOTED_SKEW,      /* clocks ahead of the slowest */
    HR_NOTED_PULL,      /* for each block: its ticket */
    HR_NOTED_STALENESS, /* pushes of others since; duration: of the gradient */
    HR_NOTED_PUSH,      /* for each block: its ticket */
    HR_NOTED_CUT,       /* no batch */
};

/* "batch", ..., or "unknown". */
const char *hr_noted_name(uint32_t kind);

struct hr_replay_log {
    struct hr_trace_log *log;         /* where it writes; NULL: nowhere */
    struct hr_trace_cursor *recorded; /* what it repeats; NULL: it is free */
    uint64_t until;                   /* entries of that: behind them it dies; 0: all */
    uint64_t moved;                   /* operations so far, so that a driver sees progress */
    bool busy;                        /* in the middle of what it noted, or will note */
    bool beyond;                      /* what is recorded has more batches than the run */
    const char *misses;               /* what it wanted, and the log has not; NULL: it fits */
};

/* Behind the last entry of a life stand those of the next one. */
static inline bool hr_replay_log_ends(const struct hr_replay_log *replay)
{
    const struct hr_trace_cursor *log = replay->recorded;
    return log && replay->until && log->section->entries - log->left >= replay->until;
}

struct hr_worker;

void hr_note(struct hr_worker *worker, enum hr_noted kind, uint64_t value);
/* In a replay: the value of its next entry, which must be of this kind; false: it is not. */
bool hr_follow(struct hr_worker *worker, enum hr_noted kind, uint64_t *value);
/* The index of its next batch. False: the log says that it draws none, or one at the cut or behind
 * it, which this run has not; then the driver decides. */
bool hr_follow_draw(struct hr_worker *worker, uint64_t cut, uint64_t *index);
/* A value that is seen, or in a replay was; it is noted. */
uint64_t hr_observe(struct hr_worker *worker, enum hr_noted kind, uint64_t seen);
/* HR_E_FORMAT: the log is of another run. */
HR_CHECKED enum hr_status hr_replay_log_fits(const struct hr_worker *worker);

#endif
