/* pushes.h - Hogwild's updates: of some weights by a gradient; and how many each worker has made,
 * in lines of its own, first in the strategy's memory.
 *
 * Threads: a line's writer is its worker, after its death the launcher; others read counts, which
 *          order nothing. The rest is a worker's own.
 */
#ifndef HR_STRATEGIES_PUSHES_H
#define HR_STRATEGIES_PUSHES_H

#include "strategies/lost.h"
#include "strategy/shared.h"

/* (workers) such lines. */
size_t hr_pushes_bytes(const struct hr_shared_state *shared);

uint64_t hr_pushes_of_others(const struct hr_worker *worker);

/* How many clocks this worker is ahead of the slowest that may still push before the cut. */
uint64_t hr_pushes_skew(const struct hr_worker *worker);

/* A worker's gradient on its way into the weights. */
struct hr_push {
    struct hr_step step;
    float lambda; /* of delay compensation; 0: none */
};

/* The next update of this worker's state, with its gradient. */
struct hr_push hr_push_begin(struct hr_worker *worker, uint64_t staleness);

/* Update w (count), which are weights [at, at + count).
 *   pulled  (count) the weights that the gradient was computed from; read if it is compensated */
void hr_push_update(struct hr_worker *worker, const struct hr_push *push, size_t at, size_t count,
                    const float *pulled, float *w);

/* This worker has made one more. */
void hr_pushes_add(struct hr_worker *worker);

/* It is at a cut; it goes on from there. */
void hr_pushes_arrive(struct hr_worker *worker);
void hr_pushes_go_on(struct hr_worker *worker);
/* A worker is lost: nobody is ahead of it any more. It comes back, level with the slowest. */
void hr_pushes_lose(const struct hr_shared_state *shared, size_t worker);
void hr_pushes_come_back(struct hr_worker *worker);

#endif
