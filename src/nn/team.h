/* team.h - the threads inside a worker: one parallel loop.
 *
 *     hr_team_run(pass->threads, ntiles, one_tile, &job);    one_tile(&job, tile, thread)
 *
 * Tasks must be independent, and what a task computes must not depend on how many threads there
 * are: then threads change no bit. Built on OpenMP, whose pool of threads belongs to the calling
 * thread; the only place that uses it. With one thread, and in builds without OpenMP, it is a loop.
 *
 * Threads: any number of threads may each run teams of their own. No team may be running in a
 * process that forks ranks.
 */
#ifndef HR_NN_TEAM_H
#define HR_NN_TEAM_H

#include <stddef.h>

/* task in [0, ntasks); thread in [0, threads), for scratch memory of its own. */
typedef void (*hr_team_fn)(void *arg, size_t task, size_t thread);

/* Run every task once; returns when all are done. threads >= 1. */
void hr_team_run(size_t threads, size_t ntasks, hr_team_fn fn, void *arg);

#endif
