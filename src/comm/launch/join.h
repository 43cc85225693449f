/* join.h - ranks that were started one by one (by torchrun, mpirun) find each other by a name.
 *
 *   /dev/shm/hogring-run.<uid>.<hash of the run's name>    the control segment
 *       [ control block (shm/control.h) | rendezvous: the run's name, the large segment's name ]
 *
 *   Story    Rank 0 makes both segments, fills them, and only then gives the control segment its
 *            name: no rank sees it half made. The others wait for that name, claim their rank's
 *            line with their pid, map the large segment, and say so. When all have, rank 0 unlinks
 *            the large segment. The rank that leaves last unlinks the control segment.
 *   Alive    No rank is the parent of the others. Each writes its pid and start time into its line,
 *            and in each wait a rank looks every 50 ms whether the others live (one poll on their
 *            pidfds, or /proc where there are none). Whoever finds one dead that has not returned
 *            aborts the run in its name; of the survivors one does, control->speaker says which.
 *   Left     A run is over when its rank 0 has returned or is dead. What it left under the same
 *            name is removed, and the file's number decides whose name it is.
 *
 * Threads: of one rank, one. Units: bytes and ns.
 * Test: tests/unit/launch/test_join.c, tests/unit/launch/test_join_environment.c
 */
#ifndef HR_LAUNCH_JOIN_H
#define HR_LAUNCH_JOIN_H

#include <poll.h>
#include <stdbool.h>

#include "shm/control.h"

struct hr_join_options {
    size_t rank, nranks, local_rank;
    char name[256];       /* of the run: the same in all its ranks, and in no other run */
    int64_t timeout_ns;   /* until all have joined; 0: none */
    size_t segment_bytes; /* of the large segment; the same in all ranks */
};

struct hr_join {
    struct hr_control *control;
    struct hr_segment control_segment, segment; /* mapped anywhere: only offsets are shared */
    struct hr_rendezvous *rendezvous;
    struct hr_join_options options;
    char file[64];                       /* the control segment's name */
    bool registered;                     /* this rank's line is ours */
    struct pollfd process[HR_MAX_RANKS]; /* pidfds of the others; -1: none */
    bool over[HR_MAX_RANKS];             /* that rank has returned: its end is no loss */
};

/* Read rank, nranks, local_rank and name from the environment; the rest stays. HR_E_USAGE names
 * the variable. */
HR_CHECKED enum hr_status hr_join_environment(struct hr_join_options *options);

/* The name of a run's control segment, for a monitor to attach to. */
void hr_join_file(const char *run, char *file, size_t size);

/* Meet the others. HR_E_TIMEOUT names who is missing; HR_E_USAGE ranks that differ or come twice.
 * On failure nothing is held. The struct stays where it is until the close. */
HR_CHECKED enum hr_status hr_join_open(const struct hr_join_options *options, struct hr_join *join);

/* Have this waiter watch the abort word, and look whether the others live. */
void hr_join_watch(struct hr_join *join, struct hr_waiter *waiter);

/* For the message of a timeout, where there is no launcher to say it: "; rank 2: pid 77 is stopped,
 * ...", or "". */
void hr_join_stopped(const struct hr_waiter *waiter, const struct hr_control *control, char *text,
                     size_t size);

/* Leave. `outcome` is what this rank returns: an error, with this thread's message, stops the
 * others. Harmless on a zeroed struct. */
void hr_join_close(struct hr_join *join, enum hr_status outcome);

#endif
