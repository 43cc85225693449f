/* in_time.h - a gradient on the real clock that takes as long as conditions say, or never comes.
 *
 * Threads: the worker's own.
 */
#ifndef HR_WORKER_IN_TIME_H
#define HR_WORKER_IN_TIME_H

#include "worker/worker.h"

/* hr_train_worker_gradient, with stalls, slowness and death of --inject and --compute-time. now_ps:
 * since the run began. HR_E_GONE: it dies. */
HR_CHECKED enum hr_status hr_gradient_in_time(struct hr_train_worker *self,
                                              const struct hr_task *task, int64_t now_ps);

#endif
