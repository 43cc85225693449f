/* accounts.h - what a run counts of its asynchrony: parts of struct hr_run_result (train.h). */
#ifndef HOGRING_ACCOUNTS_H
#define HOGRING_ACCOUNTS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HR_RESULT_STALENESS_BUCKETS = 4096 };

/* Staleness of some of a run's updates: those of a worker, or all as a tensor of the model had
 * them. */
struct hr_staleness {
    char name[96]; /* the tensor's; of a worker "" */
    uint64_t updates, sum, max;
    size_t first, n; /* its histogram: the result's stale_counts [first, first + n); what would lie
                        at HR_RESULT_STALENESS_BUCKETS or behind is in the last */
};

/* What asynchrony makes of the step. While a gradient is computed, 1 + mean staleness updates are
 * in flight, and together they move the weights: it is lr times their number that bounds for the
 * convergence of delayed SGD limit (Lian et al., "Asynchronous parallel stochastic gradient for
 * nonconvex optimization", NIPS 2015). On average asynchrony acts like momentum: Mitliagkas et al.,
 * "Asynchrony begets momentum", arXiv 1605.09774, find 1 - 1 / N for N workers, whose mean
 * staleness is N - 1. That is a prediction, not a measurement. Momenta combine so that the sums of
 * their geometric series multiply. */
struct hr_asynchrony {
    double effective_lr;      /* lr (1 + mean staleness); with --staleness-lr inverse each update
                                 counts with its own lr */
    double explicit_momentum; /* of the optimizer: momentum, or beta1 */
    double implicit_momentum; /* predicted: 1 - 1 / (1 + mean staleness) */
    double total_momentum;    /* 1 - (1 - explicit) (1 - implicit) */
};

#ifdef __cplusplus
}
#endif
#endif
