/* compute_buffers.h - the memory in which a gradient is computed and its batch decoded.
 *
 * In real time every worker has its own, or where they are more than there are processors, borrows
 * one (buffer_pool.h). When one process plays all workers, each computing thread has one, and a
 * worker borrows it for the time of a gradient: activations exist once a core, not once a worker.
 * A gradient is a pure function of weights and batch, so the buffers decide no bit.
 *
 * Threads: they belong to one thread at a time.
 */
#ifndef HR_WORKER_COMPUTE_BUFFERS_H
#define HR_WORKER_COMPUTE_BUFFERS_H

#include "nn/model.h"
#include "stages/crew.h"
#include "stages/tree_sums.h"
#include "worker/input.h"

struct hr_compute_buffers {
    void *borrower; /* whose gradient is being computed, and what it is told: in the middle of */
    void (*final)(void *borrower, size_t offset); /* backward grads [offset, params) are final */
    struct hr_workspace *workspace;               /* owned */
    struct hr_input input;
    struct hr_tree_sums sums; /* of the parts of a share (parts.h) */
    struct hr_stage lead;     /* of a pipeline: the worker's own stage, */
    struct hr_bell *bell[HR_MAX_RANKS];
    struct hr_crew crew; /* or where ranks are played all of its stages */
};

/* Bytes that one takes, and how many of them serve only evaluation. */
size_t hr_compute_buffers_bytes(const struct hr_train_job *job, size_t *for_evaluation);
/* HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_compute_buffers_start(struct hr_compute_buffers *buffers,
                                                   const struct hr_train_job *job);
/* Harmless on a zeroed one. */
void hr_compute_buffers_stop(struct hr_compute_buffers *buffers);

#endif
