/* pushes.h - what both Hogwilds (plain and recorded) have in common: the update that a gradient
 * makes, and how many each worker has made, one line a worker.
 *
 * Threads: a line's writer is its worker; others read counts, which order nothing. The rest is a
 * worker's own.
 */
#ifndef HR_STRATEGY_PUSHES_H
#define HR_STRATEGY_PUSHES_H

#include "strategy/strategy.h"

struct hr_pushes {
    alignas(HR_LINE) struct hr_atom64 count; /* pushes completed */
    struct hr_atom64 clock;                  /* those since the last cut, or HR_AT_CUT */
};

#define HR_AT_CUT UINT64_MAX /* waits for nobody's push, and nobody for its */

/* lines (workers) */
uint64_t hr_pushes_of_others(const struct hr_pushes *lines, const struct hr_worker *worker);

/* How many clocks this worker is ahead of the slowest that may still push before the cut. */
uint64_t hr_pushes_skew(const struct hr_pushes *lines, const struct hr_worker *worker);

/* A worker's gradient on its way into the weights. */
struct hr_push {
    struct hr_step step;
    float lambda; /* of delay compensation; 0: none */
};

/* The next update of this worker's state, with the gradient in hand. */
struct hr_push hr_push_begin(struct hr_worker *worker, uint64_t staleness);

/* Update w (count), which are weights [at, at + count).
 *   pulled  (count) the weights that the gradient was computed from; read if it is compensated */
void hr_push_update(struct hr_worker *worker, const struct hr_push *push, size_t at, size_t count,
                    const float *pulled, float *w);

/* This worker has made one more. */
void hr_pushes_add(struct hr_pushes *lines, struct hr_worker *worker);

#endif
