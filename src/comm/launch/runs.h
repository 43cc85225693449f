/* runs.h - the runs of this user that stand in /dev/shm: found, read, and removed when dead.
 *
 *     hogring.<pid>.<start time of pid>.<random>.<pid namespace>
 *                                  of a launcher: the control segment of a run, or memory that is
 *                                  about to lose its name
 *     hogring-run.<uid>.<hash>     of ranks that were started one by one (join.h)
 *
 * A run that ends removes its own. What stands here of processes that are all gone, by pid and
 * start time, was left by a crash. Every run removes it as it begins, all but one: the control
 * segment of the last crash stays to be read, until another run crashes or it is removed on
 * purpose.
 *
 * Reading: the file is a stranger's. It is copied, never mapped, so that one that is cut meanwhile
 *          is an error and no SIGBUS; opened read-only; and refused unless its owner, size, magic,
 *          version and number of ranks are right. It is copied twice: an operation of a flight
 *          recorder that was written meanwhile differs, and is left out (Afek et al., "Atomic
 *          snapshots of shared memory", J. ACM 1993, the double collect). Other words may be of
 *          different moments, and hold anything.
 *
 * Threads: any. Test: tests/unit/launch/test_runs.c
 */
#ifndef HR_LAUNCH_RUNS_H
#define HR_LAUNCH_RUNS_H

#include "shm/control.h"

struct hr_run_file {
    char name[64];    /* in /dev/shm */
    bool joined;      /* its ranks were started one by one */
    long pid;         /* of its launcher; of rank 0 of those; 0: not known */
    uint64_t started; /* that process, as its name says; 0: not known */
    uint64_t inode;
    bool foreign;               /* another user's */
    bool elsewhere;             /* its pids are of another namespace: does it live? */
    bool gone;                  /* it ended while it was looked at */
    bool fresh;                 /* about to become a run, or to lose its name */
    bool dead;                  /* all its processes are certainly gone */
    struct hr_control *control; /* a copy; NULL: it cannot be read. Where one process plays more
                                   ranks than HR_MAX_RANKS, of the first ones, */
    uint32_t nranks;            /* of so many */
    char fault[240];            /* why not */
};

struct hr_runs {
    struct hr_run_file *file;
    size_t n;
};

/* All that have such names, in the order of their beginning. HR_E_NOMEM, HR_E_SHM. */
HR_CHECKED enum hr_status hr_runs_find(struct hr_runs *runs);
void hr_runs_free(struct hr_runs *runs);

/* The run's own pid, a rank's, or that of the command which has started several runs? */
bool hr_run_has_pid(const struct hr_run_file *run, long pid);

/* One run, to be read again and again: a descriptor of its file, -1 when that is gone. It goes on
 * to be readable when the run has ended, which removes its name. */
int hr_run_open(const struct hr_run_file *run);
/* Its control anew, whether it is dead, and gone: it has ended, and no more is written. false: it
 * cannot be read, control is NULL. */
bool hr_run_read_again(int fd, struct hr_run_file *run);

/* When the run was last seen to do something, by hr_clock_ns. Of readable ones. */
int64_t hr_run_last_seen(const struct hr_control *control);

/* The readable dead one that was seen last; NULL: none. */
const struct hr_run_file *hr_runs_last_crash(const struct hr_runs *runs);

/* Remove a dead one's file; false: it is gone already. */
bool hr_run_remove(const struct hr_run_file *file);

/* For a run that begins: remove what dead processes have left, but the last crash. How many. */
size_t hr_runs_sweep(void);

#endif
