/* life.h - a worker's life from one cut to the next, straight on: it waits where it waits.
 *
 *   request; until ready; accept; gradient; offer; ... at the cut: arrive; until its owners have
 *
 * How it waits is its driver's: in real time it parks (drive_threads.c); where one process plays
 * all ranks others go on meanwhile (play/play.c), and before each act, too, even if nothing has to
 * be waited for: so each may come before or after those of others.
 *
 * Threads: the worker's; played, on a stack of its own (base/fibre.h).
 */
#ifndef HR_DRIVE_LIFE_H
#define HR_DRIVE_LIFE_H

#include "worker/worker.h"

/* Where a worker stands: what it does next, or what it is no more. */
enum hr_stand {
    HR_WANTS,    /* next: request */
    HR_ASKED,    /* next: look, which may advance a collective; accept, when ready */
    HR_HAS,      /* next: gradient and offer */
    HR_AT_CUT,   /* next: arrive, when the snapshot may be overwritten */
    HR_ARRIVING, /* next: at the cut, when its owners say so */
    HR_ARRIVED,  /* nothing, until all are here */
    HR_RESTS,    /* nothing until the next term: a loss has ended this one, or it has no seat */
    HR_DEAD,     /* nothing; and nobody knows yet */
    HR_LOST,     /* nothing, until it is started again */
};

struct hr_life;

struct hr_life_ways {
    /* It stands there now. */
    enum hr_status (*stand)(struct hr_life *life, enum hr_stand where);
    /* Until ready(arg), which a ring of the bell may have changed. */
    enum hr_status (*wait)(struct hr_life *life, struct hr_bell *bell, hr_ready_fn ready, void *arg,
                           const char *what);
    /* A part of its last push is unanswered: send it again when that may be done. */
    enum hr_status (*repeat)(struct hr_life *life);
    /* Of its batch. */
    enum hr_status (*gradient)(struct hr_life *life);
};

struct hr_life {
    const struct hr_life_ways *ways;
    void *of; /* the driver's */
    struct hr_train_worker *trainer;
    struct hr_cut *cut;
    struct hr_task *task;
    const char *awaited; /* in a step, in words */
};

/* From one cut to the next. HR_E_RECALLED: all are recalled. */
HR_CHECKED enum hr_status hr_life_span(struct hr_life *life);

#endif
