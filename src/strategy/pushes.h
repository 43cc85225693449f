/* pushes.h - how many updates each of Hogwild's workers has made: one line a worker.
 *
 * Threads: a line's writer is its worker; others read counts, which order nothing.
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
struct hr_update {
    struct hr_step step;
    float lambda; /* of delay compensation; 0: none */
    size_t line;  /* that is watched for lost updates begins at this weight (lost.h) */
};

/* The next one of this worker's, of the gradient in hand: counts it, and measures norms. */
struct hr_update hr_update_begin(struct hr_worker *worker, uint64_t staleness);

/* Update weights [at, at + count), at weights, with the gradient in hand, compensated for what has
 * changed since they were pulled. */
void hr_update_weights(struct hr_worker *worker, const struct hr_update *update, size_t at,
                       size_t count, float *weights);

/* This worker has made one more. */
void hr_pushes_add(struct hr_pushes *lines, struct hr_worker *worker);

#endif
