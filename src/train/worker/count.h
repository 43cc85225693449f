/* count.h - what is counted of a gradient that is made.
 *
 * Threads: as worker.h.
 */
#ifndef HR_WORKER_COUNT_H
#define HR_WORKER_COUNT_H

#include "worker/worker.h"

/* Of batch `index`: its samples, and the sum of their losses. */
void hr_count_gradient(struct hr_train_worker *self, uint64_t index, size_t samples,
                       double loss_sum);

#endif
