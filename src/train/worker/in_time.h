/* in_time.h - a gradient on the real clock that takes as long as conditions say, or never comes;
 * and when a push that was lost is sent again.
 *
 * Threads: the worker's own.
 */
#ifndef HR_WORKER_IN_TIME_H
#define HR_WORKER_IN_TIME_H

#include "worker/worker.h"

/* hr_train_worker_begin and _gradient, with stalls, slowness and death of --inject and
 * --compute-time. now_ps: since the run began. HR_E_GONE: it dies. */
HR_CHECKED enum hr_status hr_gradient_in_time(struct hr_train_worker *self,
                                              const struct hr_task *task, int64_t now_ps);

/* A part of its last push is unanswered (server/server_requests.h): when is it sent again? */
struct hr_deadline {
    struct hr_train_worker *self;
    int64_t until_ns;
};
struct hr_deadline hr_deadline_begin(struct hr_train_worker *self);
/* Has it passed, and is no copy under way? Not waited for when the run is asked to stop.
 * (hr_ready_fn) */
bool hr_deadline_has_passed(void *deadline);

#endif
