/* diary.h - what a worker did, written by itself, or to be done again (hogwild_recorded.c).
 *
 * Threads: private to a worker; the driver sets log and script before it acts.
 */
#ifndef HR_STRATEGY_DIARY_H
#define HR_STRATEGY_DIARY_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/trace.h"

struct hr_diary {
    struct hr_trace_log *log;       /* where it writes; NULL: nowhere */
    struct hr_trace_cursor *script; /* what it is to do; NULL: as it likes */
    uint64_t moved;                 /* operations so far, so that a driver sees progress */
    bool beyond;                    /* the script has more batches than the run */
    void *own;                      /* the strategy's own */
};

struct hr_strategy;
/* What runs under this strategy that are recorded or replayed do: itself, or its variant. */
const struct hr_strategy *hr_strategy_recorded(const struct hr_strategy *strategy);

#endif
