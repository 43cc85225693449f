/* evaluate.h - a worker's part of an evaluation.
 *
 * Threads: a worker's own; each writes the cells of its own blocks.
 */
#ifndef HR_WORKER_EVALUATE_H
#define HR_WORKER_EVALUATE_H

#include "worker/worker.h"

/* Evaluate blocks seat, seat + seats, ... of the test split from the snapshot. Errors: those of
 * hr_train_worker_sit. */
HR_CHECKED enum hr_status hr_train_worker_evaluate(struct hr_train_worker *self);

#endif
