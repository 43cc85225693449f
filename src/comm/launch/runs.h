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
 * Threads: any. Test: tests/unit/launch/test_runs.c, test_look.c, tests/cli/doctor.bats
 */
#ifndef HR_LAUNCH_RUNS_H
#define HR_LAUNCH_RUNS_H

#include "launch/stall.h"
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
    struct hr_control *control; /* a copy; NULL: it cannot be read. Where one process runs more
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

/* The readable dead one that was seen last; NULL: none. */
const struct hr_run_file *hr_runs_last_crash(const struct hr_runs *runs);

/* Remove a dead one's file; false: it is gone already. */
bool hr_run_remove(const struct hr_run_file *file);

/* Was this line taken by a process that is gone? Has its rank said that it returned? */
bool hr_rank_is_dead(const struct hr_rank_status *line);
bool hr_rank_has_returned(const struct hr_rank_status *line);

/* Is nobody using the run any more? All have returned, died or never come. */
bool hr_ranks_are_gone(const struct hr_control *control);

/* For a run that begins: remove what dead processes have left, but the last crash. How many. */
size_t hr_runs_sweep(void);

/* === one look at a run from outside: who waits for whom, since when, and whose fault it is ===
 *
 * What the copy of its control segment says and /proc, put together. Of a run that is dead it is
 * what was seen last: times end there. */

enum hr_run_state {
    HR_RUN_ALIVE,
    HR_RUN_HELD_UP, /* some rank waits for long */
    HR_RUN_STOPPED, /* the launcher's process, or some rank's */
    HR_RUN_ENDING,  /* it has failed, and ends */
    HR_RUN_DEAD,
};

/* "held up" */
const char *hr_run_state_str(enum hr_run_state state);

struct hr_look {
    enum hr_run_state state;
    bool launcher_stopped;
    int64_t silent_ns;         /* since the launcher has looked; 0: it is no launcher's run */
    struct hr_waits waits;     /* its now: the time of the look, by hr_clock_ns; or of the end */
    bool lost[HR_MAX_RANKS];   /* its process is gone, and it has not returned */
    struct hr_hold_up hold_up; /* who is to blame; n 0: nobody is */
};

/* Look at a run that can be read. Waits of at least long_ns are long; a stopped process holds up
 * others at once. */
void hr_look_at(const struct hr_run_file *run, int64_t long_ns, struct hr_look *look);

/* For how many ranks this one waits, the first of `whom` (HR_MAX_RANKS), and how long at most. */
size_t hr_look_waits_for(const struct hr_look *look, size_t rank, size_t *whom, int64_t *time);

/* One sentence: what is wrong, and whose fault it is; "" when nothing is. 1000 will do. */
void hr_look_say(const struct hr_run_file *run, const struct hr_look *look, char *text,
                 size_t size);

#endif
