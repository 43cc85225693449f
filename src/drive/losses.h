/* losses.h - the launcher of a run that outlives its ranks (--on-loss): it says who is gone and who
 * is back, starts ranks again, lets those who rest go on, and keeps the account of it all.
 *
 *   continue   those who are left go on
 *   restart    ... and the rank is started again, while --max-restarts lasts: at once, and when it
 *              is lost again after a pause of 0.1 s, which doubles with each of its losses
 *
 * A server without a replica cannot be done without: it is started again in any case, and all go
 * back to the last cut.
 *
 * Threads: the launcher's; workers write only struct hr_resumption.
 * Test:    tests/unit/train/test_losses.c
 */
#ifndef HR_DRIVE_LOSSES_H
#define HR_DRIVE_LOSSES_H

#include "hogring/train.h"
#include "shm/control.h"
#include "drive/cut_counts.h"

enum { HR_LOSSES_MOST = 4096 };

/* When an update was applied that was offered after a loss; in the segment. */
struct hr_resumption {
    struct hr_atom64 lost_ns;    /* writer: the launcher, before it says so */
    struct hr_atom64 resumed_ns; /* 0: not yet; the first worker who sees it */
};

struct hr_resumptions {
    alignas(HR_LINE) struct hr_atom32 n; /* partner: workers after a step */
    struct hr_resumption loss[HR_LOSSES_MOST];
};

struct hr_losses {
    struct hr_leader *leader;
    int64_t (*now_ns)(const void *clock);
    const void *clock;
    struct hr_resumptions *resumptions; /* in the segment */
    uint32_t view, called;              /* of the roster, as the present term knows it */
    bool rolls;                         /* the next term goes back to the last cut */
    bool halted;                        /* the last cut has passed: ranks leave */
    int64_t began_ns;
    size_t restarts;                /* so far */
    int64_t again_ns[HR_MAX_RANKS]; /* when a rank may be started again; 0: it need not */
    struct hr_loss *loss;           /* (n) owned */
    size_t n;
};

void hr_losses_begin(struct hr_losses *losses, struct hr_leader *leader);
void hr_losses_end(struct hr_losses *losses);

/* Rank `rank` is gone. True: the run goes on. (hr_launch_options.lost) */
bool hr_losses_lost(void *losses, size_t rank, const char *how);
/* A rank to start again now; nranks: none; HR_LATER. (hr_launch_options.again) */
size_t hr_losses_again(void *losses);
/* Let those who rest go on, when all do; welcome who is back. Call at every ring of the launcher's
 * bell. */
HR_CHECKED enum hr_status hr_losses_look(struct hr_losses *losses);
/* After the run: what became of all of them, into the result, which owns the list. */
void hr_losses_report(struct hr_losses *losses, struct hr_run_result *result);

/* A worker's: it has had an update applied that it offered at that time. */
void hr_losses_resumed(struct hr_resumptions *resumptions, uint32_t *seen, int64_t offered_ns);

#endif
