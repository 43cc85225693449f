/* child_watch.h - rings a bell as soon as a process ends.
 *
 * One thread sleeps in poll on the processes' pidfds, and rings whenever one of them ends. Where
 * there are no pidfds (before Linux 5.3) or no thread is to be had nothing rings: whoever relies on
 * it looks around from time to time as well.
 *
 * Threads: start and stop by one thread. Nothing is forked while it runs: stop, fork, and start
 *          again with the new process.
 * Test: tests/unit/launch/test_launch_lost.c
 */
#ifndef HR_LAUNCH_CHILD_WATCH_H
#define HR_LAUNCH_CHILD_WATCH_H

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "shm/control.h"

struct hr_child_watch {
    struct hr_bell *bell;
    /* [0, count) events only while it lives, fd -1: not watched; [count] it is to stop */
    struct pollfd process[HR_MAX_RANKS + 1];
    size_t count;
    pthread_t thread;
    bool runs;
};

/* Watch these processes, children or not, from now on; a pid of -1: none. The struct stays where it
 * is until the stop. */
void hr_child_watch_start(struct hr_child_watch *watch, struct hr_bell *bell, const pid_t *pids,
                          size_t count);

/* Harmless on a zeroed struct. */
void hr_child_watch_stop(struct hr_child_watch *watch);

#endif
