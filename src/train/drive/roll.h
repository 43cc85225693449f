/* roll.h - the launcher's log of a recorded run that outlives losses: who was lost and came back,
 * which cuts all left, and which terms began, each with where the ranks stood. It is the last owner
 * of such a trace; with the others' logs it decides the run's bits (--on-loss).
 *
 *     kind   rank    step                       value
 *     AT     server  0                          before LOST of a worker: requests of that life that
 *                                               had come to it, each counted once; before CUT
 *                                               and TERM: entries in its log
 *     LOST   worker  gradients it had computed  entries in its log, where it has one
 *     LOST   server  0                          entries in its log
 *     BACK   rank    0                          0
 *     CUT    0       0                          2 x its index + 1 where the run ends there
 *     TERM   0       samples that will be       the index it begins with: that of the last CUT
 *                    computed once more
 *     OVER   0       0                          0; nobody who is lost from here on is started again
 *
 *   All servers' AT stand before what they belong to. A term goes back to the last cut: nothing
 *   that logs have between the two is in the weights, and a replay skips it. Durations: of LOST
 *   and CUT, when, on the clock of the run, since it began.
 *
 * Why that is enough: what an owner takes, a loss and a return among it, stands in its own log. The
 * launcher acts only where all who live rest, or (LOST, BACK) in a way that others learn by an
 * input of theirs.
 *
 * Threads: the launcher's.
 * Test:    tests/unit/train/test_replay_losses.c, test_replay_ends.c
 */
#ifndef HR_DRIVE_ROLL_H
#define HR_DRIVE_ROLL_H

#include "trace/trace.h"
#include "drive/driver.h"

enum hr_roll_kind {
    HR_ROLL_AT,
    HR_ROLL_LOST,
    HR_ROLL_BACK,
    HR_ROLL_CUT,
    HR_ROLL_TERM,
    HR_ROLL_OVER
};

/* --- written; nothing where the run is not recorded, or outlives no losses --- */

/* Rank `rank` is gone, and its counters are whole; it is welcome again. */
void hr_roll_lost(const struct hr_drive *drive, size_t rank);
void hr_roll_back(const struct hr_drive *drive, size_t rank);
/* All rest at a cut, and will leave it; halts: the run. */
void hr_roll_cut(const struct hr_drive *drive, bool halts);
/* They have left the last one. */
void hr_roll_over(const struct hr_drive *drive);
/* All were recalled, and a term has begun: so many samples will be computed once more. */
void hr_roll_term(const struct hr_drive *drive, uint64_t index, uint64_t again);

/* --- read --- */

struct hr_roll_place {
    uint32_t rank;
    uint64_t value;
};

struct hr_roll_event {
    enum hr_roll_kind kind; /* LOST, BACK, CUT or TERM */
    uint32_t rank;
    uint64_t step, value;
    const struct hr_roll_place *at; /* (n) */
    size_t n;
};

struct hr_roll {
    struct hr_roll_event *event; /* (n) owned */
    size_t n, over;              /* events; those before the end */
    struct hr_roll_place *place; /* owned */
};

/* The last owner's log. HR_E_FORMAT: what it says cannot be; HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_roll_read(const struct hr_trace *trace, struct hr_roll *roll);
/* Harmless on a zeroed one. */
void hr_roll_free(struct hr_roll *roll);

#endif
