/* observed.h - what the run's observer (hogring/observer.h) is told by the launcher: steps that
 * ranks have told of (observe/feed.h), points of the curve and saves, in the order in which they
 * came to be: steps before the evaluation, or the save, that they are in, and those of the next
 * epoch behind it, however late the launcher looks.
 *
 * Threads: the launcher's.
 * Test:    tests/unit/train/test_observer.c
 */
#ifndef HR_SESSION_OBSERVED_H
#define HR_SESSION_OBSERVED_H

#include "observe/feed.h"
#include "session/cut.h"

struct hr_observed {
    const struct hr_observer *observer;
    const struct hr_cuts *cuts;
    const struct hr_feed *feed; /* NULL: nobody tells of steps */
    bool by_staleness;          /* the rate of an update is over 1 + its staleness */
    bool by_rows;  /* a record is of rows up to its index, at the rate of their epoch */
    bool rateless; /* their steps have none */
    size_t points; /* told so far; to begin with those of the runs before */
    uint64_t ends; /* of the epoch of the next point: steps from there on are behind */
    bool held;     /* such a step is there, and waits for the point */
};

/* Does it want records of ranks? */
static inline bool hr_observer_wants_records(const struct hr_observer *observer)
{
    return observer->stepped || observer->spanned;
}

/* What the run is about to do: may it? The observer's own refusal. */
HR_CHECKED enum hr_status hr_observer_begins(const struct hr_observer *observer,
                                             const struct hr_run_info *info);

/* Before ranks run. The caller has set what is not said to be told. */
void hr_observed_begin(struct hr_observed *observed);
/* Tell what has come to be since the last call. */
void hr_observed_tell(struct hr_observed *observed);
/* The state as it is at the current cut, or pause, is copied, and will be saved. */
void hr_observed_saving(struct hr_observed *observed);
/* All that is in it is told, and it is about to be written. */
void hr_observed_writing(struct hr_observed *observed);
/* A rank is lost, and the run goes on. */
void hr_observed_lost(struct hr_observed *observed, const struct hr_loss *loss);

#endif
