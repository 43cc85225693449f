/* peer_watch.h - ranks without a launcher watch one another.
 *
 * Every rank has its pid and start time in its line of the control block. In each wait a rank looks
 * every 50 ms whether the others live (one poll on their pidfds, or /proc where there are none).
 * Whoever finds one dead that has not returned aborts the run in its name; of the survivors one
 * does, control->speaker says which.
 *
 * Threads: one, the rank. Test: tests/unit/launch/test_join.c
 */
#ifndef HR_LAUNCH_PEER_WATCH_H
#define HR_LAUNCH_PEER_WATCH_H

#include <poll.h>
#include <stdbool.h>

#include "shm/control.h"

struct hr_peer_watch {
    struct hr_control *control;
    size_t rank;
    struct pollfd process[HR_MAX_RANKS]; /* pidfds of the others; -1: none */
    bool over[HR_MAX_RANKS];             /* that rank has returned: its end is no loss */
};

void hr_peer_watch_init(struct hr_peer_watch *watch, struct hr_control *control, size_t rank);

/* For hr_waiter's look; arg is the watch. */
void hr_peer_watch_look(void *watch);

/* For the message of a timeout, where there is no launcher to say it: "; rank 2: pid 77 is stopped,
 * ...", or "". */
void hr_peer_watch_stopped(const struct hr_waiter *waiter, const struct hr_control *control,
                           char *text, size_t size);

/* Harmless on a zeroed struct. */
void hr_peer_watch_fini(struct hr_peer_watch *watch);

/* Was this line taken by a process that is gone? */
bool hr_rank_is_dead(const struct hr_rank_status *line);

/* Is nobody using the run any more? All have returned, died or never come. */
bool hr_ranks_are_gone(const struct hr_control *control);

/* Has the rank said that it returned? */
bool hr_rank_has_returned(const struct hr_rank_status *line);

#endif
