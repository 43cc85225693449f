/* gradient_check.h - no gradient with a number that is not finite leaves its worker: nothing would
 * remove that again from the weights of the others.
 *
 *     hr_gradient_check_begin
 *     hr_gradient_check_from    before grads [offset, ...) are handed over; at last with offset 0
 *
 *   Caught       every infinity and every NaN in any tensor, the statistics of batchnorm included.
 *                A piece is checked before it is handed over (--overlap); a gradient of several
 *                parts after they have been added.
 *   Not caught   numbers that are wrong and finite. Finite gradients whose sum over workers, or
 *                whose update, is too large for a float: the next loss is not finite then. What
 *                happens to a gradient in memory behind its check.
 *   Cost         an instruction for 8 numbers: 0.6 % of those of a step of `mlp` of one worker. So
 *                every number is looked at: a layer's bias alone would tell of the gradient of its
 *                output, not of a product that overflows, nor of what memory does.
 *
 * Threads: belongs to its worker.
 * Test:    tests/unit/worker/test_gradient_check.c
 */
#ifndef HR_WORKER_GRADIENT_CHECK_H
#define HR_WORKER_GRADIENT_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "products/taker.h"

struct hr_gradient_check {
    float *grads;     /* borrowed */
    size_t unchecked; /* grads [0, unchecked) may still change */
    size_t nan_at;    /* this one becomes NaN when it is checked, on purpose; SIZE_MAX: none */
    size_t threads;   /* that look; 0: one */
    size_t found;     /* one that is not finite; SIZE_MAX: there was none so far */
    float value;      /* of it */
};

/* A new gradient of so many numbers. */
void hr_gradient_check_begin(struct hr_gradient_check *check, float *grads, size_t params,
                             size_t nan_at);
/* These are final: what follows comes in pieces, too. May this one be handed over: are it and all
 * before it finite? */
bool hr_gradient_check_piece(struct hr_gradient_check *check, const struct hr_final_piece *piece);
/* grads [offset, params) are final. May they be handed over: are all of them finite? */
bool hr_gradient_check_from(struct hr_gradient_check *check, size_t offset);

#endif
