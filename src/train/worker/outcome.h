/* outcome.h - what becomes of a gradient that is computed: its numbers are checked, it is handed
 * over, counted, and told to who looks on.
 *
 * Threads: as worker.h.
 */
#ifndef HR_WORKER_OUTCOME_H
#define HR_WORKER_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "products/taker.h"

struct hr_train_worker;

/* --- no gradient with a number that is not finite leaves its worker ---
 *
 * Nothing would remove that again from the weights of the others.
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
 *   Test         tests/unit/worker/test_gradient_check.c */
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

/* In the middle of backward: worker.grads [offset, params) are final, and handed over where the
 * strategy takes pieces. Behind a number that is not finite nothing more is; who has computed the
 * gradient says so. Where workers were lost, a share may be computed in parts that are added first:
 * it is handed over at once, when it is whole.
 *   of  struct hr_train_worker * */
void hr_hand_over(void *of, size_t offset);

/* What is counted of a gradient that is made, of batch `index`: its samples, and the sum of their
 * losses. */
void hr_count_gradient(struct hr_train_worker *self, uint64_t index, size_t samples,
                       double loss_sum);

/* --- who looks on (observe/feed.h) is told of each of its steps ---
 *
 *     hr_report_begin     it begins, or begins again
 *     hr_count_gradient   a gradient is counted; hr_report_norm: its norm, where that is cheap
 *     hr_report_steps     what became of those that were not told yet is known: it has the next
 *                         batch, or is at a cut and its account stands
 *
 * A gradient that its worker does not live to see applied is not told; nor is one that is to be
 * computed again, since all were revoked. Their time is told with the next.
 *
 * Cost: off, a branch each. On, the norm: a read of the gradient.
 * Threads: a worker's own, as worker.h. hr_report_steps where effects happen, never where gradients
 *          are computed beside that.
 * Test: tests/unit/train/test_observer.c */

/* More than one only where a pipeline that never drains comes to a cut. */
enum { HR_REPORTS_MOST = 64 };

struct hr_counted_step {
    uint64_t index;
    size_t samples;
    uint64_t too_late; /* gradients of the worker that were before it: more now, it was */
    double loss_sum;
    float norm;
};

struct hr_step_reports {
    float norm; /* of the gradient that is in hand; NaN: not known */
    size_t n;
    struct hr_counted_step step[HR_REPORTS_MOST]; /* (n) to be told */
    uint64_t stale_updates, stale_sum;            /* of the worker's, when it told last */
};

void hr_report_begin(struct hr_train_worker *self);
/* worker.grads are final, a sum over so many samples. */
void hr_report_norm(struct hr_train_worker *self, size_t samples);
/* trained_ns: training so far, on the run's clock. */
HR_CHECKED enum hr_status hr_report_steps(struct hr_train_worker *self, int64_t trained_ns);

#endif
