/* compute_buffers.h - the memory in which a gradient is computed and its batch decoded.
 *
 * In real time every worker has its own, or where they are more than there are processors, borrows
 * one of a pool. When one process runs all workers, each computing thread has one, and a
 * worker borrows it for the time of a gradient: activations exist once per core, not per worker.
 * A gradient is a pure function of weights and batch, so the buffers decide no bit.
 *
 * Threads: they belong to one thread at a time.
 */
#ifndef HR_WORKER_COMPUTE_BUFFERS_H
#define HR_WORKER_COMPUTE_BUFFERS_H

#include "nn/model.h"
#include "shm/wait.h"
#include "stages/crew.h"
#include "stages/tree_sums.h"
#include "worker/input.h"

struct hr_train_worker;

struct hr_compute_buffers {
    struct hr_train_worker *borrower; /* whose gradient is being computed */
    struct hr_workspace *workspace;   /* owned */
    struct hr_input input;
    struct hr_tree_sums sums; /* of the parts of a share (gradient.c) */
    struct hr_stage lead;     /* of a pipeline: the worker's own stage, */
    struct hr_bell *bell[HR_MAX_RANKS];
    struct hr_crew crew; /* or where one thread runs all ranks all of its stages */
};

/* Bytes that one takes, and how many of them serve only evaluation. */
size_t hr_compute_buffers_bytes(const struct hr_train_job *job, size_t *for_evaluation);
/* HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_compute_buffers_start(struct hr_compute_buffers *buffers,
                                                   const struct hr_train_job *job);
/* Harmless on a zeroed one. */
void hr_compute_buffers_stop(struct hr_compute_buffers *buffers);

/* --- a pool: compute buffers for more workers than there are processors ---
 *
 *   Story    threads of one process: as many compute buffers as processors, and a worker has one
 *            for the time of a gradient, or of its part of an evaluation. So activations exist
 *            once per processor, and those that compute have one to themselves.
 *   Order    whoever asks while one is free has it at once, unless another has waited for longer
 *            than a slice of a processor: then it is that one's turn. So nobody is left behind,
 *            and no processor idles while the next one wakes up.
 *   Turns    one that does not wait for others between its gradients computes several in its turn,
 *            which lasts a slice: it lays the buffers down, and nobody is woken before it waits or
 *            its turn is over. So there is not a switch a gradient, and what it reads stays near.
 *   Waiting  a holder computes and waits for nobody, so there is always one who gives back. Not for
 *            workers that do wait in the middle of a gradient (pipelines, --overlap on): those have
 *            buffers of their own. A wait counts as computing without a processor, which it is.
 *   Deadline begins anew whenever somebody gives back, here and in all other waits of the workers:
 *            while others compute, one after the other, nobody hangs.
 *
 * Threads: take and give_back are the workers'; bytes decide no bit (compute_buffers.h).
 * Test:    tests/unit/worker/test_buffer_pool.c
 */
struct hr_buffer_pool;

/* How many compute buffers the workers of a run in real time need. */
size_t hr_buffer_pool_size(const struct hr_train_job *job);
/* *out is NULL where each worker has its own. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_buffer_pool_start(const struct hr_train_job *job,
                                               struct hr_buffer_pool **out);
/* When all have given back. Harmless on NULL. */
void hr_buffer_pool_stop(struct hr_buffer_pool *pool);

/* How often buffers were given back: what moves while a run goes on. */
const struct hr_atom64 *hr_buffer_pool_beat(const struct hr_buffer_pool *pool);

/* Worker `rank` waits for buffers, and has them until it gives them back.
 *   waited_ns  out: for how long; its account books that as what it was doing
 * HR_E_ABORTED, HR_E_REVOKED; HR_E_TIMEOUT: nobody gave back for as long as `waiter` waits. */
HR_CHECKED enum hr_status hr_buffer_pool_take(struct hr_buffer_pool *pool,
                                              const struct hr_waiter *waiter, size_t rank,
                                              struct hr_compute_buffers **out, int64_t *waited_ns);
void hr_buffer_pool_give_back(struct hr_buffer_pool *pool, struct hr_compute_buffers *buffers);
/* The same where it will soon ask again. True: its turn lasts, and nobody was woken; before it
 * waits for anything, or ends, it has to pass the turn on. */
bool hr_buffer_pool_lay_down(struct hr_buffer_pool *pool, size_t rank,
                             struct hr_compute_buffers *buffers);
void hr_buffer_pool_pass(struct hr_buffer_pool *pool);

#endif
