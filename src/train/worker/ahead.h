/* ahead.h - what of a worker's push goes ahead while backward computes the rest (--overlap on): the
 * list of it, made beforehand.
 *
 * Test: tests/unit/train/test_parts_of_pushes.c
 */
#ifndef HR_WORKER_AHEAD_H
#define HR_WORKER_AHEAD_H

#include "nn/madds.h"
#include "worker/job.h"

/* In their order: a part ends where the one before it begins, the first at the model's end, and
 * begins at `offset`; `share` of a gradient's time have gone then. None where no servers are
 * pushed to, or all goes at once. *out is the caller's to free. HR_E_USAGE, HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_ahead_list(const struct hr_train_job *job, struct hr_model_final **out,
                                        size_t *n);

#endif
