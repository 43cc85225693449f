/* measured.h - what an evaluation came to: the blocks' sums, added in the order of the blocks,
 * whoever computed them.
 *
 * Threads: the leader's, when all blocks are there. Test: tests/unit/train/test_regress.c
 */
#ifndef HR_WORKER_MEASURED_H
#define HR_WORKER_MEASURED_H

#include "worker/job.h"

struct hr_measured {
    double loss, accuracy; /* accuracy NaN where values are predicted, and fit where classes are */
    struct hr_fit fit;
};

struct hr_measured hr_train_job_measured(const struct hr_train_job *job);

/* Bytes of the errors of a data set's blocks (job.h); 0 where classes are predicted. */
size_t hr_measured_bytes(const struct hr_dataset *dataset);

#endif
