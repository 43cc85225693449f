/* driver.h - a driver decides whose turn it is and what the time is; no other part of a run knows
 * which driver it has.
 *
 *   hr_driver_threads    real time: every rank is a thread or a process, and waits
 *   hr_driver_explore    one thread runs all ranks; what happens next is drawn from a seed
 *   hr_driver_virtual    one thread runs all ranks in virtual time: a heap of events
 *   hr_driver_replay     one process repeats what a trace says
 *
 * All share the workers (worker.h), the owners' side of the strategy (strategy.h), the leader at
 * cuts (leader.h) and the launcher's ticks (session/launcher.h).
 *
 * Threads: struct hr_drive is the launcher's; ranks of hr_driver_threads read it.
 */
#ifndef HR_DRIVE_DRIVER_H
#define HR_DRIVE_DRIVER_H

#include "base/clock.h"
#include "session/launcher.h"
#include "trace/pick.h"
#include "drive/calibrate.h"
#include "drive/leader.h"
#include "drive/losses.h"

struct hr_serial;
struct hr_resting;

/* The events of an explored run, a fixed list: an act of each worker; of each server, that it takes
 * the oldest message of each worker; and where losses are outlived, these of each rank. */
enum hr_rank_event {
    HR_RANK_NOTICE,
    HR_RANK_COME_BACK,
    HR_RANK_DIE,      /* these two only where a chooser decides */
    HR_RANK_DIE_LATE, /* its gradient is computed, and not handed in */
    HR_RANK_EVENTS
};

/* Who chooses the next event of an explored run, in place of a seed: for tests. */
struct hr_chooser {
    void (*begin)(void *arg, struct hr_serial *serial); /* ranks have started */
    hr_choose_fn choose;                                /* asked before each event */
    void *arg;
};

/* A run under way, as its driver sees it. */
struct hr_drive {
    const struct hr_driver *driver;
    struct hr_train_job *job;
    const struct hr_leader *leader;
    struct hr_launcher *launcher;
    struct hr_losses losses;
    struct hr_calibration calibration;
    struct hr_recorder *recorder;   /* owned; NULL: nothing is recorded (record.h) */
    void *record_tails;             /* of logs, in the segment */
    struct hr_resting *resting;     /* owned; NULL: servers are busy ranks (serve.h) */
    const struct hr_replay *replay; /* what is replayed; NULL: nothing */
    uint64_t explore_seed;
    const struct hr_chooser *chooser; /* NULL: the seed decides */
    int64_t now_ps;                   /* virtual time */
    struct hr_run_result *result;     /* for entries of a trace */
    bool stuck;                       /* a rank did not end, and still uses the run's memory */
};

struct hr_driver {
    const char *title; /* "in virtual time"; NULL: say how ranks are launched */
    bool serial;       /* one process runs all ranks */
    bool simulated;    /* in virtual time */
    bool local;        /* one thread is the whole group (group/local_group.h) */
    /* Threads that compute where one thread runs all ranks; NULL: each worker does. */
    size_t (*threads)(const struct hr_train_options *options);
    int64_t (*now_ns)(const void *drive); /* the run's clock */
    /* Memory of its own; NULL: none worth counting. */
    size_t (*bytes)(const struct hr_shared_state *shared);
    enum hr_status (*run)(struct hr_drive *drive);
};

/* The clock of those in real time. */
static inline int64_t hr_driver_real_ns(const void *drive)
{
    (void)drive;
    return hr_clock_ns();
}

/* Training so far in a serial run, on its clock. */
static inline int64_t hr_drive_trained_ns(const struct hr_drive *drive)
{
    const struct hr_cut *cut = drive->leader->cuts.cut;
    return cut->before_ns + drive->driver->now_ns(drive) - cut->span_began_ns;
}

/* drive_threads.c; serial/drive_explore.c, drive_replay.c; virtual/drive_virtual.c. */
extern const struct hr_driver hr_driver_threads, hr_driver_explore, hr_driver_virtual,
    hr_driver_replay;

#endif
