/* launcher.h - the launcher's side of a run: it shows progress and points of the curve, has
 * checkpoints written, and passes on requests to stop. It never computes.
 *
 * A save: the leader asks for it at a cut (cut.h), the launcher copies the state, and a thread of
 * its own writes the copy while ranks go on. The next cut waits for the copy alone. One
 * checkpoint is written at a time: the next is copied when that is done, so none is left out, and
 * ranks wait for a disk only where they save more than it takes.
 *
 * Where one process runs all ranks, steps may be in a copy before they are told: such a copy is
 * held until they are, so that a log is never behind the checkpoint it goes on from. The next save
 * waits for nothing but the disk.
 *
 * Between cuts a save is asked for by time or by the observer (a signal): ranks quiesce as
 * soon as their strategy can, or at the next cut (strategy/batch_schedule.h). One request stands
 * for all that come before it is served. Time does not ask while a checkpoint is written, but for
 * virtual time, which knows no disk.
 *
 * Of a run on several machines machine 0's launcher does all that. The others' follow it: they show
 * and save nothing, and pass on what they are asked for (struct hr_asked_elsewhere).
 *
 * How an engine plugs in: it fills the constants, has hr_launcher_begin called before the first
 * rank starts, hr_launcher_tick about ten times a second (hr_launch_run does), and hr_launcher_end
 * after all ranks have ended. It forks nothing while hr_launcher_writes.
 *
 * What the observer (hogring/observer.h) is told, steps that ranks have told of (observe/feed.h),
 * points of the curve and saves, it hears in the order in which they came to be: steps before the
 * evaluation, or the save, that they are in, and those of the next epoch behind it, however late
 * the launcher looks.
 *
 * Threads: the launcher's own; workers see only struct hr_cut and `stop`.
 * Test:    tests/unit/session/test_cut.c, test_writer.c, tests/unit/train/test_observer.c
 */
#ifndef HR_SESSION_LAUNCHER_H
#define HR_SESSION_LAUNCHER_H

#include <pthread.h>

#include "base/error.h"
#include "observe/feed.h"
#include "session/cut.h"
#include "session/save.h"
#include "shm/wait.h"

/* One piece of work at a time, done by a thread of the launcher while ranks go on: a checkpoint is
 * written.
 *
 *     hr_writer_start(&writer, write, arg, bell);     returns at once; rings when it is done
 *     if (hr_writer_is_done(&writer))                 or at any time, to wait for it
 *         status = hr_writer_finish(&writer);
 *
 * The thread is there only while it writes, and takes no signals. Nothing is forked meanwhile: who
 * has to fork waits until hr_writer_is_busy is false. The wait of hr_writer_finish is one for the
 * disk, as write(2) itself, and has no deadline. */
struct hr_writer {
    enum hr_status (*write)(void *arg);
    void *arg;
    struct hr_bell *bell;
    bool busy;     /* started, and not finished */
    bool threaded; /* there is a thread to join */
    pthread_t thread;
    struct hr_atom32 done; /* partner: hr_writer_is_done */
    /* The thread's, until it is done: */
    enum hr_status status;
    char message[512];
    int64_t took_ns;
};

/* It is not busy. Where no thread is to be had, the caller writes by itself. */
void hr_writer_start(struct hr_writer *writer, enum hr_status (*write)(void *arg), void *arg,
                     struct hr_bell *bell);

/* Started, and not finished? */
bool hr_writer_is_busy(const struct hr_writer *writer);
/* Busy, and finish would not wait? */
bool hr_writer_is_done(const struct hr_writer *writer);

/* Wait until it is done; what `write` has returned, with its message. */
HR_CHECKED enum hr_status hr_writer_finish(struct hr_writer *writer);

/* What launchers of other machines were asked for. Writer: who takes their messages. */
struct hr_asked_elsewhere {
    struct hr_atom32 stop;  /* the run is to be stopped */
    struct hr_atom32 saves; /* how often a save was asked for */
};

struct hr_launcher {
    const struct hr_observer *observer;
    const struct hr_cuts *cuts;
    const struct hr_feed *feed; /* from ranks; NULL: nobody tells of steps */
    bool by_staleness;          /* the rate of an update is over 1 + its staleness */
    bool by_rows;           /* a record is of rows up to its index, at the rate of their epoch */
    bool rateless;          /* their steps have none */
    struct hr_atom32 *stop; /* enum hr_stop; partner: who begins a batch */
    const struct hr_atom64 *seen; /* samples of the first worker so far; an estimate */
    size_t seen_stride;           /* bytes from one worker's to the next one's */
    double max_seconds;           /* of the run's clock; 0: any */
    int64_t (*now_ns)(const void *clock);
    const void *clock;
    struct hr_saver *saver;
    struct hr_run_result *result;               /* its `checkpoint` and `saves` */
    const struct hr_asked_elsewhere *elsewhere; /* NULL: there are no others */
    /* It follows: tell the first machine's launcher to stop, or to save. NULL: it is the first. */
    enum hr_status (*pass_on)(void *arg, bool stop);
    void *pass_arg;
    bool alone; /* it runs all ranks: nobody trains while it waits for a disk */
    bool holds; /* what it copies is written when hr_launcher_release says so, or at its end */
    /* Its own. */
    int64_t began_ns; /* by the run's clock */
    struct {
        size_t points; /* of the curve; to begin with those of the runs before */
        uint64_t ends; /* of the epoch of the next point: steps from there on are behind */
        bool held;     /* such a step is there, and waits for the point */
    } reported;        /* so far, to the observer */
    uint64_t saves_seen;
    unsigned asks_seen; /* of observer->saves_asked, and elsewhere */
    bool stop_passed;   /* on, to the first */
    int64_t due_ns;     /* by the run's clock: the next save that time asks for */
    struct {
        uint64_t *index; /* (n, room) owned: of cuts that were there for a request */
        size_t n, room;
    } requested_cuts;
    enum hr_status save_status; /* of the last one */
    bool held;                  /* a copy waits to be written */
    struct hr_writer writer;
};

/* What the run is about to do: may it? The observer's own refusal. */
HR_CHECKED enum hr_status hr_observer_begins(const struct hr_observer *observer,
                                             const struct hr_run_info *info);

/* The run begins now. */
void hr_launcher_begin(struct hr_launcher *launcher);

/* The run's clock, in picoseconds since it began. Any rank may ask. */
int64_t hr_launcher_ps(const struct hr_launcher *launcher);

/* HR_E_INTERRUPTED: asked to stop at once. */
HR_CHECKED enum hr_status hr_launcher_tick(void *launcher);

/* Tell the observer what has come to be since the last call. */
void hr_launcher_report(struct hr_launcher *launcher);

/* Ask for a save where it is time to (--checkpoint-every). Of virtual time its driver asks before
 * each event; else a tick does. */
void hr_launcher_mind_time(struct hr_launcher *launcher);

/* Is a checkpoint being written? Its end rings the launcher's bell. */
bool hr_launcher_writes(const struct hr_launcher *launcher);
/* Copy the state now, if that is asked for, though it may mean to wait for the disk: what the
 * launcher does next changes it. */
void hr_launcher_take(struct hr_launcher *launcher);
/* All steps of a copy that is held are told: it is written. Else nothing. */
void hr_launcher_release(struct hr_launcher *launcher);

/* All ranks have ended: the last save, which is written when it returns, and the last points. */
HR_CHECKED enum hr_status hr_launcher_end(struct hr_launcher *launcher);
/* After a run that ended in any way: what was asked for is written. Harmless on a zeroed one. */
void hr_launcher_stop(struct hr_launcher *launcher);
/* HR_OK if the last save was written, else what has kept it from that. */
HR_CHECKED enum hr_status hr_launcher_saved(const struct hr_launcher *launcher);

#endif
