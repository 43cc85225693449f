/* roll.h - the launcher's log of a recorded run that outlives losses: who was lost and came back,
 * which cuts all left, and which terms began, each with where the ranks stood. It is the last owner
 * of such a trace; with the others' logs it decides the run's bits (--on-loss).
 *
 *     kind   rank    step                       value
 *     AT     worker  gradients it had computed  2 x what it had left to others (strategy->left)
 *                                               + 1 where it had ended that
 *     AT     server  0                          entries in its log
 *            before LOST:                       requests of that life that had come to it, each
 *                                               counted once
 *     LOST   worker  gradients it had computed  entries in its log, where it has one
 *     LOST   server  0                          entries in its log
 *     BACK   rank    0                          0
 *     CUT    0       0                          2 x its index + 1 where the run ends there
 *     TERM   0       samples that will be       2 x the index it begins with + 1 where all went
 *                    computed once more         back to the last cut
 *     NEXT   0       0                          before a TERM that goes back: nobody had begun, or
 *                                               would have before a cut, this batch or one behind
 *     KEPT   worker  before a TERM: gradients   0
 *                    that count from there on
 *     OVER   0       0                          0; nobody who is lost from here on is started again
 *
 *   Where workers send one another replicas (gossip), AT of workers stands before LOST, too: how
 *   many of its messages have come to each; for itself, the batch that it has handed in all before.
 *   AT stands before what it belongs to: all servers before LOST of a worker, all ranks before a
 *   TERM. Only terms that recall all are there. Durations: of LOST and CUT, when, on the clock of
 *   the run, since it began.
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
    HR_ROLL_NEXT,
    HR_ROLL_KEPT,
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
/* All rest, and are recalled (rolled: to the last cut); then: what has begun. */
void hr_roll_stand(const struct hr_drive *drive, bool rolled);
void hr_roll_term(const struct hr_drive *drive, uint64_t index, bool rolled, uint64_t again);

/* --- read --- */

struct hr_roll_place {
    uint32_t rank;
    uint64_t step, value;
};

struct hr_roll_event {
    enum hr_roll_kind kind; /* LOST, BACK, CUT or TERM */
    uint32_t rank;
    uint64_t step, value;
    uint64_t next;                    /* a TERM's that goes back; else UINT64_MAX */
    const struct hr_roll_place *at;   /* (n) */
    const struct hr_roll_place *kept; /* (nkept) */
    size_t n, nkept;
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
