/* team.h - the threads inside a worker: one parallel loop.
 *
 *     hr_team_run(pass->threads, ntiles, one_tile, &job);    one_tile(&job, tile, thread)
 *
 * Tasks must be independent, and what a task computes must not depend on how many threads there
 * are: then threads change no bit. With one thread it is a loop.
 *
 * The calling thread owns its team: helpers are started when they are first needed, sleep between
 * loops, and end with their owner. Each thread gets an equal share of the tasks, through two
 * semaphores a helper:
 *
 *     owner:   offers each helper a share; runs its own; then takes back every share that nobody
 *              has begun and runs it, and waits for the others
 *     helper:  takes its share, runs it, says so
 *
 * So a helper that gets no processor costs a system call, not a time slice. OpenMP's team, which
 * spins until it has one, made a worker of two threads 80 times slower on crowded processors.
 *
 * Threads: any number of threads may each run teams of their own. A process that forks ranks must
 * not have run one: helpers are not forked.
 * Errors:  when helpers cannot be started the team does with those it has, and says so once.
 * Test:    tests/unit/kernels/test_team.c
 */
#ifndef HR_KERNELS_TEAM_H
#define HR_KERNELS_TEAM_H

#include <stddef.h>

enum { HR_TEAM_MAX = 256 };

/* task in [0, ntasks); thread in [0, threads), for scratch memory of its own. */
typedef void (*hr_team_fn)(void *arg, size_t task, size_t thread);

/* Run every task once; returns when all are done. 1 <= threads <= HR_TEAM_MAX. */
void hr_team_run(size_t threads, size_t ntasks, hr_team_fn fn, void *arg);

#endif
