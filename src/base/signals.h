/* signals.h - Ctrl-C: in a run the first finishes the step and saves, the second leaves, the third
 * is not asked; what comes within 0.1 s of one that counted is one with it (timeout(1) signals its
 * child and its group). Elsewhere the first ends the command, within a second whatever it is doing:
 * reading from a FIFO, writing into one, or computing. And SIGBUS: a mapped file that was cut, or
 * that its disk does not give, ends the command with a line and exit code 3; a rank that is a
 * process says that line, and dies of the signal, as does any process that somebody sends it to. */
#ifndef HR_BASE_SIGNALS_H
#define HR_BASE_SIGNALS_H

#include <pthread.h>
#include <stdbool.h>

#include "base/error.h"

/* Count SIGINT, SIGTERM, SIGHUP and SIGXCPU (ulimit -t) from now on, and SIGUSR1, but for those
 * that are ignored; say what SIGBUS means. None is blocked. */
void hr_signals_catch(void);
/* In a child that its parent ends by SIGTERM: count that, though it may have been ignored. */
void hr_signals_obey_parent(void);

/* Start a thread that gets no signals but of its own faults: they are for threads that were there
 * before, which check what a handler noted. 0, or an errno. */
int hr_thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

/* Between the two a run is on that asks hr_signals_seen, and is not cut short; what it leaves to
 * report has ten seconds once it ended. */
void hr_signals_run_begins(void);
void hr_signals_run_ended(void);

/* How often one came; an hr_observer.should_stop. */
int hr_signals_seen(void *unused);

/* How often SIGUSR1 asked for a checkpoint; an hr_observer.saves_asked. */
unsigned hr_signals_saves_asked(void *unused);
/* What asked before was of another run. */
void hr_signals_forget_asks(void);
/* SIGUSR1 waits (hold) until it may come again, also in a child that is forked in between. */
void hr_signals_hold_asks(bool hold);

/* HR_E_INTERRUPTED when one came: for work in pieces, between two of them. */
HR_CHECKED enum hr_status hr_signals_check(void);

/* One came that no run has to see, nor has seen: a wait for others (a FIFO's reader, gnuplot) ends.
 */
bool hr_signals_end_waits(void);

/* 128 + the first signal that came (130, 143, ...), or 0. */
int hr_signals_exit_code(void);
/* What that is on another machine of the run; where none came here it is ours, too. */
void hr_signals_came_elsewhere(int exit_code);

/* --- files that must not stay behind when the process leaves from a signal handler ---
 *
 * Threads: add and forget from any; remove from a handler, as the last thing but _exit.
 * Test:    tests/unit/base/test_signals.c */

void hr_leftover_add(const char *path);

/* It is finished, or gone. */
void hr_leftover_forget(const char *path);

/* Remove what this process has added and not forgotten. Safe in a signal handler. */
void hr_leftovers_remove(void);

#endif
