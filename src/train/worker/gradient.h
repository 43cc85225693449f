/* gradient.h - a worker's gradient: of a piece of a batch, whose samples are loaded, and the model
 * runs forward and backward; of its share in pieces; checked, counted, and told to who looks on.
 *
 * Threads: as worker.h.
 */
#ifndef HR_WORKER_GRADIENT_H
#define HR_WORKER_GRADIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/model.h"
#include "observe/feed.h"
#include "products/taker.h"
#include "worker/input.h"
#include "worker/job.h"

struct hr_train_worker;

/* --- what of a push goes ahead while backward computes the rest (--overlap on) --- */

/* A list, made beforehand (tests/unit/train/test_parts_of_pushes.c). In their order: a part ends
 * where the one before it begins, the first at the model's end, and begins at `offset`; `share` of
 * a gradient's time have gone then. None where no servers are pushed to, or all goes at once. *out
 * is the caller's to free. HR_E_USAGE, HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_ahead_list(const struct hr_train_job *job, struct hr_model_final **out,
                                        size_t *n);

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
    uint64_t counted; /* samples that the worker had counted with it: fewer now, it was dropped */
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

/* What is counted of a gradient that is made, of batch `index`: its samples, and the sum of their
 * losses. */
void hr_count_gradient(struct hr_train_worker *self, uint64_t index, size_t samples,
                       double loss_sum);

/* --- computed --- */

/* Into grads (params): the sum over the samples of a piece.
 *   key  by which it may have been decoded ahead; NULL: it has not */
struct hr_batch_result hr_gradient_of(struct hr_train_worker *self, const struct hr_batch *piece,
                                      const struct hr_prefetch_key *key, float *grads);

/* --- a share of a batch, part by part, and summed ---
 *
 *   Parts   slices of the share, or (--reduce repro) the worker's micro-shards of the batch. They
 *           are decoded and computed one after another, in memory for one.
 *   Order   T(n) over the n parts (stages/tree_sums.h). */

/* Part `i` of this worker's share. */
struct hr_batch hr_part_of(const struct hr_train_worker *self, const struct hr_batch *batch,
                           size_t i);
/* The gradient of the share of batch `index`, part by part, into the worker's grads. *samples
 * out. */
struct hr_batch_result hr_parts_gradient(struct hr_train_worker *self, uint64_t index,
                                         size_t *samples);

/* --- --reduce repro: the bits of training do not depend on the number of workers ---
 *
 *   Story    a global batch is split into M micro-shards (a power of two, 8 unless told otherwise).
 *            A shard's gradient is computed by itself, so that kernels always see the same shapes,
 *            and the M gradients are added in T(M) (base/vec.h). A worker has M / W neighbouring
 *            shards, W being a power of two: a whole subtree of T(M), which it adds alone. A
 *            strategy that adds in T(W) then adds the subtrees' sums: together the same tree.
 *   Promise  with the same global batch and M, the same weights for W = 1, 2, 4, ... M.
 *   Cost     products of smaller matrices, and M / W - 1 additions of a gradient. It is measured on
 *            the first steps: worker 0 also computes its whole share at once.
 *   Source   the idea of virtual workers: EasyScale (Li et al., SC 2023).
 *   Test     tests/unit/train/test_repro.c */

/* Check and resolve --reduce. */
HR_CHECKED enum hr_status hr_micro_shards_prepare(struct hr_train_job *job);
/* The worker's share of the global batch, shard by shard, into its grads. *samples out. */
struct hr_batch_result hr_micro_shards_gradient(struct hr_train_worker *self, uint64_t index,
                                                size_t *samples);
/* Time by shards over time of whole shares; 0: not known. */
double hr_micro_shards_cost(const struct hr_train_job *job);

#endif
