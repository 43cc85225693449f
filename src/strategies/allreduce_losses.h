/* allreduce_losses.h - allreduce outlives workers: what a term that a loss broke off has come to.
 *
 * Threads: the launcher's, while all rest.
 * Test:    tests/unit/train/test_losses.c, test_several_losses.c
 */
#ifndef HR_STRATEGIES_ALLREDUCE_LOSSES_H
#define HR_STRATEGIES_ALLREDUCE_LOSSES_H

#include "strategy/before_image.h"
#include "strategy/settle.h"

/* strategy->settle. image: stripes of weights and state before a step (one machine); one: the one
 * state of all, or NULL, where each replica has its own. */
uint64_t hr_allreduce_settle(struct hr_shared_state *shared, const struct hr_term_record *record,
                             const struct hr_before_image *image, const float *one);

#endif
