/* worker.h - a worker in training: it computes the gradients that its strategy asks for, and its
 * part of evaluations.
 *
 *     hr_train_worker_start
 *     hr_train_worker_borrow        memory to compute in
 *     hr_train_worker_begin         a batch
 *     hr_train_worker_gradient      of its share of it, into worker.grads
 *     hr_train_worker_evaluate, hr_train_worker_leave_cut
 *     hr_train_worker_stop
 *
 * Its gradients, and the memory that it computes in, are gradient.c; worker.c has the rest.
 *
 * Threads: a worker's own; where one thread runs all ranks, after one another, but for
 *          gradients, which begin there and are computed beside it.
 */
#ifndef HR_WORKER_WORKER_H
#define HR_WORKER_WORKER_H

#include "worker/compute_buffers.h"
#include "worker/job.h"
#include "worker/outcome.h"

/* What an evaluation came to: the blocks' sums, added in the order of the blocks,
 * whoever computed them.
 *
 * Threads: the leader's, when all blocks are there. Test: tests/unit/train/test_regress.c
 */
struct hr_measured {
    double loss, accuracy; /* accuracy NaN where values are predicted */
    struct hr_fit fit;
};

struct hr_measured hr_train_job_measured(const struct hr_train_job *job);

/* Where a stage of a stream makes its updates (staged.h). */
struct hr_streamed_stage {
    const struct hr_train_job *job;
    size_t worker;
    uint64_t before; /* updates ever made before the stream's first */
};

struct hr_train_worker {
    const struct hr_train_job *job;
    struct hr_worker worker; /* as its strategy sees it */
    struct hr_waiter waiter;
    size_t parts;                       /* of its share: more where fewer share a batch */
    bool at_the_start;                  /* its gradient is the first, at the initial weights */
    struct hr_compute_buffers *buffers; /* borrowed: what its gradients are computed in */
    struct hr_gradient_check check;
    int64_t final_ns;            /* spent by the strategy in the middle of backward, in all */
    int64_t slept_ns;            /* of this batch: injected loading time */
    int64_t stood_ns;            /* the last wait for buffers of the job's pool */
    bool keeps_turn;             /* of the pool, and has to pass it on */
    int64_t late_ns;             /* how much too late it was woken last */
    uint32_t life;               /* of the ranks of its pipeline (stages/pipeline.h) */
    struct hr_versions versions; /* of its weights: staged.h */
    struct hr_streamed_stage stage;
    struct hr_prefetch *prefetch; /* owned; NULL: every batch is decoded in place */
    struct hr_step_reports reports;
};

/* joins: it was lost, and comes back while the others go on; else all begin together, from the
 * snapshot. */
HR_CHECKED enum hr_status hr_train_worker_start(struct hr_train_worker *self,
                                                const struct hr_train_job *job, size_t rank,
                                                bool joins);
void hr_train_worker_stop(struct hr_train_worker *self);
/* The same of one that leaves as if it had died: owners are not told. */
void hr_train_worker_drop(struct hr_train_worker *self);

/* Take its rank among the term's active workers. False: it is not one of them, and rests until the
 * next term. */
bool hr_train_worker_enter_group(struct hr_train_worker *self);
/* After a revocation: start again from the snapshot, in a new group, at the index that the term
 * begins with. On failure the worker is stopped. */
HR_CHECKED enum hr_status hr_train_worker_restart(struct hr_train_worker *self);

/* Compute in these buffers from now on. */
void hr_train_worker_borrow(struct hr_train_worker *self, struct hr_compute_buffers *buffers);
/* Where the job has a pool of buffers: borrow some of it, and give them back. Else nothing.
 * HR_E_ABORTED, HR_E_REVOKED, HR_E_TIMEOUT: nobody gave any back. */
HR_CHECKED enum hr_status hr_train_worker_take_buffers(struct hr_train_worker *self);
void hr_train_worker_return_buffers(struct hr_train_worker *self);
/* Before it waits for others: those who wait for its buffers may go on (compute_buffers.h). */
void hr_train_worker_pass(struct hr_train_worker *self);

/* Before its gradient: what --inject does to its weights, and what of the run decides how it is
 * counted. A gradient reads nothing that others change. */
void hr_train_worker_begin(struct hr_train_worker *self, uint64_t index);
/* Gradient of this worker's share of batch `index`; HR_E_DIVERGED when it or the loss is not
 * finite (outcome.h). */
HR_CHECKED enum hr_status hr_train_worker_gradient(struct hr_train_worker *self, uint64_t index);

/* Before it arrives at a cut: finish the batches that are on their way, if any. */
HR_CHECKED enum hr_status hr_train_worker_drain(struct hr_train_worker *self);

/* After a cut: where the next one is. */
void hr_train_worker_leave_cut(struct hr_train_worker *self);

/* Evaluate blocks group_rank, group_rank + group_size, ... of the test split from the snapshot;
 * each worker writes the cells of its own blocks. HR_E_ABORTED, HR_E_REVOKED, HR_E_TIMEOUT: it got
 * no buffers. */
HR_CHECKED enum hr_status hr_train_worker_evaluate(struct hr_train_worker *self);

/* --- on the real clock: as long as conditions say, or never --- */

/* hr_train_worker_begin and _gradient, with stalls, slowness and death of --inject and
 * --compute-time. now_ps: since the run began. HR_E_GONE: it dies. */
HR_CHECKED enum hr_status hr_gradient_in_time(struct hr_train_worker *self, uint64_t index,
                                              int64_t now_ps);

/* A part of its last push is unanswered (server/server_worker.h): when is it sent again? */
struct hr_deadline {
    struct hr_train_worker *self;
    int64_t until_ns;
};
struct hr_deadline hr_deadline_begin(struct hr_train_worker *self);
/* Has it passed, and is no copy under way? Not waited for when the run is asked to stop.
 * (hr_ready_fn) */
bool hr_deadline_has_passed(void *deadline);

#endif
