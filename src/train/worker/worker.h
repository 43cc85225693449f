/* worker.h - a worker in training: it computes the gradients that its strategy asks for, and its
 * part of evaluations.
 *
 *     hr_train_worker_start
 *     hr_train_worker_borrow        memory to compute in
 *     hr_train_worker_begin         a batch
 *     hr_train_worker_gradient      of its share of it, into worker.grads
 *     hr_train_worker_evaluate (evaluate.h), hr_train_worker_leave_cut
 *     hr_train_worker_stop
 *
 * A gradient's way: hr_train_worker_gradient (which samples, what is counted) -> micro_shards.h
 * (where a share is several pieces) -> gradient.h (of one piece: load it, run the model).
 *
 * Threads: a worker's own; where all ranks are played, one thread's after the other, but for
 *          gradients, which begin there and are computed beside it.
 */
#ifndef HR_WORKER_WORKER_H
#define HR_WORKER_WORKER_H

#include "worker/compute_buffers.h"
#include "worker/gradient_check.h"
#include "worker/job.h"
#include "worker/tell.h"

/* Where a stage of a stream makes its updates (streamed.h). */
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
    struct hr_telling telling;
};

/* joins: it was lost, and comes back while the others go on; else all begin together, from the
 * snapshot. */
HR_CHECKED enum hr_status hr_train_worker_start(struct hr_train_worker *self,
                                                const struct hr_train_job *job, size_t rank,
                                                bool joins);
void hr_train_worker_stop(struct hr_train_worker *self);
/* The same of one that leaves as if it had died: owners are not told. */
void hr_train_worker_drop(struct hr_train_worker *self);

/* Take the seat that the term's seats say. False: it has none, and rests until the next term. */
bool hr_train_worker_seat(struct hr_train_worker *self);
/* After a recall: start again from the snapshot, in a new group, at the seats' index. On failure
 * the worker is stopped. */
HR_CHECKED enum hr_status hr_train_worker_restart(struct hr_train_worker *self);

/* Compute in these buffers from now on. */
void hr_train_worker_borrow(struct hr_train_worker *self, struct hr_compute_buffers *buffers);

/* Where the job has a pool of buffers: borrow some of it, and give them back. Else nothing.
 * HR_E_ABORTED, HR_E_RECALLED, HR_E_TIMEOUT: nobody gave any back. */
HR_CHECKED enum hr_status hr_train_worker_sit(struct hr_train_worker *self);
void hr_train_worker_rise(struct hr_train_worker *self);
/* Before it waits for others: those who wait for its buffers may go on (buffer_pool.h). */
void hr_train_worker_pass(struct hr_train_worker *self);

/* Before its gradient: what --inject does to its weights, and what of the run decides how it is
 * counted. A gradient reads nothing that others change. */
void hr_train_worker_begin(struct hr_train_worker *self, const struct hr_task *task);
/* Gradient of this worker's share of the task's batch; HR_E_DIVERGED when it or the loss is not
 * finite (gradient_check.h). */
HR_CHECKED enum hr_status hr_train_worker_gradient(struct hr_train_worker *self,
                                                   const struct hr_task *task);

/* Before it arrives at a cut: finish the batches that are on their way, if any. */
HR_CHECKED enum hr_status hr_train_worker_drain(struct hr_train_worker *self);

/* After a cut: where the next one is. */
void hr_train_worker_leave_cut(struct hr_train_worker *self);

/* Sleep until then, or until the run is asked to stop: an injected sleep may last hours. */
HR_CHECKED enum hr_status hr_train_worker_sleep(const struct hr_train_worker *self,
                                                int64_t until_ns, const char *what);

#endif
