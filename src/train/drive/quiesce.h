/* quiesce.h - losses where ranks wait for one another (the roster: shm/roster.h). A rank quiesces,
 * and goes on with all others or in a new term. The launcher sees who is gone and who is back, and
 * when all who live are quiescent it lets them go on, into a new term where somebody was lost or
 * came back.
 *
 * Threads: struct hr_quiesce is its rank's; all else the launcher's.
 * Test:    tests/unit/drive/test_quiesce.c, test_span_clock.c, tests/unit/train/test_losses.c
 */
#ifndef HR_DRIVE_QUIESCE_H
#define HR_DRIVE_QUIESCE_H

#include "drive/losses.h"

/* Where a rank is quiescent. Those at a cut are reached by all who live, or by none. */
enum hr_quiesce_stage {
    HR_STAGE_SPAN = 1,  /* revoked in the middle of a span */
    HR_STAGE_ENDED,     /* a cut: all have come to it */
    HR_STAGE_EXPORTED,  /* their parts of the state are in the snapshot */
    HR_STAGE_EVALUATED, /* and it has been evaluated */
    HR_STAGE_BEGINS,    /* the cut is concluded: the next span may begin */
    HR_STAGE_JOINS,     /* started again; not in any term yet */
    HR_STAGE_COMBINED,  /* between ENDED and EXPORTED, where ranks are on several machines */
    HR_STAGE_OVER,      /* all ranks have ended: machines' launchers meet */
    HR_STAGE_BACK,      /* machine 0 has gone back to the last cut */
};

struct hr_quiesce {
    struct hr_control *control;
    struct hr_waiter *waiter;
    size_t rank;
    uint32_t term, revokes; /* that it knows */
    bool new_term;          /* one has begun, and the rank has not taken its place in it */
    bool revoked;           /* by the last new term: it begins from the snapshot */
    bool begins;            /* by the last new term: at HR_STAGE_BEGINS */
};

/* Of rank `rank`, which waits with that waiter: from now on its waits can be revoked. */
void hr_quiesce_open(struct hr_quiesce *quiesce, struct hr_control *control,
                     struct hr_waiter *waiter, size_t rank);

/* Be quiescent until all who live are. HR_E_REVOKED: a new term has begun; else all go on. */
HR_CHECKED enum hr_status hr_quiesce_at(struct hr_quiesce *quiesce, enum hr_quiesce_stage stage);
/* Has the last cut passed? */
bool hr_quiesce_is_over(const struct hr_quiesce *quiesce);
/* Be quiescent until the launcher knows that this rank is back, or (*over) the run is. */
HR_CHECKED enum hr_status hr_quiesce_join(struct hr_quiesce *quiesce, bool *over);

/* The launcher's, at every ring of its bell: when all who live are quiescent they go on. */
HR_CHECKED enum hr_status hr_quiesce_release(struct hr_losses *losses);

#endif
