/* losses.h - the launcher of a run that outlives its ranks (--on-loss): it says who is gone and who
 * is back and when they may be started again, and keeps the account of it all. Who lets those who
 * are quiescent go on: quiesce.h where ranks wait, serial/serial.h where one thread runs them.
 *
 *   continue   those who are left go on
 *   restart    ... and the rank is started again, while restarts last: at once, and when it
 *              is lost again after a pause of 0.1 s, which doubles with each of its losses, to
 *              51.2 s
 *
 * Two rules:
 *   an input   of a worker, where strategies are not synchronous: owners take it like a message,
 *              and nobody quiesces
 *   else       the term ends: all are revoked, and begin again from the last cut, with the
 *              ranks that are left. One that is started again is waited for. A server cannot be
 *              done without, nor a worker with a server in it: it is started again in any case
 *
 * A new term is what the launcher puts in order while all who live are quiescent:
 *   always     workers that live are active; under --reduce repro the largest power of two of them
 *   revoked    all go back to the last cut. Snapshot and counters become what they were there, and
 *              what ranks share is initialised from them, as it is when a run is resumed from a
 *              checkpoint. So recovery is a resume in memory
 *   else       owners have taken the loss as an input: nothing else changes
 *
 * In real and virtual time cuts are at most a second apart, or a hundred times what one takes: the
 * launcher asks for them, to have little to go back. Not where a cut brings replicas together that
 * are apart (strategy->rows.since), nor where no loss leads back: all are inputs, and there is no
 * server.
 *
 * Where nothing is outlived there is nothing to do, and functions without a rank may be called.
 *
 * Times are of the run's clock: of training, without cuts and what is evaluated and saved there.
 *
 * Threads: the launcher's; workers write only struct hr_resumption.
 * Test:    tests/unit/train/test_losses.c, tests/unit/drive/test_losses.c,
 *          tests/unit/serial/test_explored_losses.c
 */
#ifndef HR_DRIVE_LOSSES_H
#define HR_DRIVE_LOSSES_H

#include "drive/leader.h"
#include "hogring/train.h"
#include "shm/control.h"

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

struct hr_drive;
struct hr_losses_multinode;

/* Samples, and pushes that were applied in part (lost_batches.h). */
struct hr_reported_work {
    uint64_t lost, again, partial;
};

struct hr_losses {
    const struct hr_leader *leader;
    const struct hr_drive *drive;       /* whose this is */
    struct hr_resumptions *resumptions; /* in the segment */
    uint32_t view;                      /* of the roster, as the present term knows it */
    uint64_t kept;                      /* cuts that were concluded when the last was kept, */
    int64_t kept_ns, rest_ns, copy_ns;  /* when; when all came to the cut; what such a cut takes */
    bool in_span;                       /* the last cut is left, or the next one not concluded */
    bool halted;                        /* the last cut has passed: ranks leave */
    uint64_t concludes; /* cuts that the leader has concluded when all are quiescent again */
    int64_t began_ns;
    /* Of ranks that wait: time in spans that are over, and since when this one goes on; 0: it does
     * not. (quiesce.c) */
    int64_t trained_ns, span_ns;
    const char *why_not; /* the run did not outlive a loss; NULL: it did */
    char stage_how[160]; /* a stage was lost, whose worker will be; "": none */
    size_t stage_of;     /* that worker */
    size_t restarts;     /* so far */
    /* (ranks) each, in the segment: */
    int64_t *again_ns;                 /* when one may be started again; 0: it need not */
    bool *comes;                       /* it is gone, and will be back */
    struct hr_reported_work *reported; /* of a worker's lost work, to its losses so far */
    uint64_t again;                    /* samples that the last term computes once more, */
    size_t revoked_by;                 /* put down to this loss */
    struct hr_losses_multinode
        *multinode; /* of a run on several machines (losses_multinode.h); or NULL */
    /* A term begins there, in place of what this file has for one machine; or NULL. */
    enum hr_status (*begin)(struct hr_losses *losses, uint64_t *again);
    struct hr_loss *loss; /* (n) owned */
    size_t n;
};

void hr_losses_begin(struct hr_drive *drive);
void hr_losses_end(struct hr_losses *losses);

/* Rank `rank` is gone. True: the run goes on. (hr_launch_options.lost) */
bool hr_losses_lost(void *losses, size_t rank, const char *how);
/* A rank to start again now; nranks: none; HR_LATER. (hr_launch_options.again) */
size_t hr_losses_again(void *losses);
/* It is being started again: again_ns says nothing more. */
void hr_losses_start(struct hr_losses *losses, size_t rank);
/* It was started again, and is ready to take part. */
void hr_losses_welcome(struct hr_losses *losses, size_t rank);

/* Was somebody lost, or has come back, of whom the present term does not know? Are all revoked
 * from it? */
bool hr_losses_changed(const struct hr_losses *losses);
bool hr_losses_are_revoked(const struct hr_losses *losses);
/* Are none revoked, and have owners taken the losses of all who are gone? A cut before that could
 * miss batches that one of them had. */
bool hr_losses_are_taken(const struct hr_losses *losses);
/* All who live have come to a cut, and rest: what those who are gone left undone before it is
 * handed out again (then all go back for it: cut->again), or counted as lost, and what they were
 * told last is counted. May be repeated. */
void hr_losses_account(const struct hr_losses *losses);
/* A rank that was lost, and will be back, is awaited: a term that begins begins with it. */
bool hr_losses_await(const struct hr_losses *losses);
/* All are quiescent behind a cut that was concluded: it becomes the one that a revocation goes back
 * to. */
void hr_losses_keep_cut(struct hr_losses *losses);
/* Where there is time, real or virtual: ask for a cut, if the last one is so long ago that one more
 * costs a hundredth of the time, and a second. At every tick. */
void hr_losses_mind_copy(struct hr_losses *losses);
/* All who live are quiescent; begins: where a cut was concluded. A new term begins. */
HR_CHECKED enum hr_status hr_losses_begin_term(struct hr_losses *losses, bool begins);

/* The steps of a revocation, where ranks are on several machines (losses_multinode.h). Machine 0:
 * snapshot and counters are those of the last cut; samples that will be computed once more. */
uint64_t hr_term_go_back(const struct hr_leader *leader);
/* All machines have them: active workers, and what ranks here share, begin there. HR_E_LOST. */
HR_CHECKED enum hr_status hr_term_begin_at_cut(const struct hr_leader *leader);

/* After the run: what became of all of them, into the result, which owns the list. */
void hr_losses_report(struct hr_losses *losses, struct hr_run_result *result);

/* A worker's: it has had an update applied that it offered at that time. */
void hr_losses_resumed(const struct hr_losses *losses, uint32_t *seen, int64_t offered_ns);

/* --- losses of runs whose workers are several ranks each (--pipeline): a rank that is
 * lost is its replica's end.
 *
 *   worker   it is lost as any worker is; its other stages leave the step that they are in, and
 *            wait until it is back, or the run is over
 *   stage    the worker leaves its step and goes, too: then that is lost, and when it is started
 *            again so is the stage */
/* Of any rank. (hr_launch_options.lost; losses.h has what follows) */
bool hr_replica_lost(void *losses, size_t rank, const char *how);

#endif
