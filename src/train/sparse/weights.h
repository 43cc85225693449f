/* weights.h - reading and updating the live weights of one row: the inner loops of a linear model.
 *
 *   dot      sum of w x over a row: four sums, element k in sum k mod 4 but for the last
 *            (count mod 4) in sum 0; then (s0 + s1) + (s2 + s3)
 *   update   w += step x - keep w decay, each weight by one relaxed load and one relaxed store;
 *            keep 0: no decay, and decay is not read
 *
 * Rows are prefetched: a row is contiguous, but the next one is anywhere. Aliasing: none.
 * Threads: any number on the same weights. Test: tests/unit/sparse/test_weights.c (naive twins)
 */
#ifndef HR_SPARSE_WEIGHTS_H
#define HR_SPARSE_WEIGHTS_H

#include <math.h>

#include "sparse/run.h"

struct hr_sparse_row {
    const struct hr_sparse_pair *pairs;
    size_t count;
};

static inline struct hr_sparse_row hr_sparse_row_at(const struct hr_sparse_rows *rows, size_t i)
{
    return (struct hr_sparse_row){rows->pairs + rows->begin[i],
                                  rows->begin[i + 1] - rows->begin[i]};
}

static inline float hr_sparse_term(const struct hr_atom32 *weights, struct hr_sparse_pair pair)
{
    return hr_hogwild_load_float_relaxed(&weights[pair.column]) * pair.value;
}

static inline float hr_sparse_dot(const struct hr_atom32 *weights, struct hr_sparse_row row)
{
    const struct hr_sparse_pair *x = row.pairs;
    float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    size_t k = 0;
    for (; k + 4 <= row.count; k += 4) {
        s0 += hr_sparse_term(weights, x[k]);
        s1 += hr_sparse_term(weights, x[k + 1]);
        s2 += hr_sparse_term(weights, x[k + 2]);
        s3 += hr_sparse_term(weights, x[k + 3]);
    }
    for (; k < row.count; k++)
        s0 += hr_sparse_term(weights, x[k]);
    return (s0 + s1) + (s2 + s3);
}

struct hr_sparse_step {
    float step, keep;
    const float *decay; /* by place */
};

/* The update of one weight, from its old value. */
static inline float hr_sparse_updated(float old, struct hr_sparse_pair pair,
                                      const struct hr_sparse_step *s)
{
    const float moved = old + s->step * pair.value;
    return s->keep > 0 ? moved - s->keep * s->decay[pair.column] * old : moved;
}

static inline void hr_sparse_update(struct hr_atom32 *weights, struct hr_sparse_row row,
                                    const struct hr_sparse_step *s)
{
    for (size_t k = 0; k < row.count; k++) {
        struct hr_atom32 *w = &weights[row.pairs[k].column];
        const float old = hr_hogwild_load_float_relaxed(w);
        hr_hogwild_store_float_relaxed(w, hr_sparse_updated(old, row.pairs[k], s));
    }
}

/* The same weights; returns how many updates of others it overwrote. */
static inline uint64_t hr_sparse_update_looking(struct hr_atom32 *weights, struct hr_sparse_row row,
                                                const struct hr_sparse_step *s)
{
    uint64_t lost = 0;
    for (size_t k = 0; k < row.count; k++) {
        struct hr_atom32 *w = &weights[row.pairs[k].column];
        const float old = hr_hogwild_load_float_relaxed(w);
        lost += (uint64_t)hr_hogwild_exchange_float_relaxed(
            w, old, hr_sparse_updated(old, row.pairs[k], s));
    }
    return lost;
}

/* Prefetch what the rows after order[i] will need. */
static inline void hr_sparse_look_ahead(const struct hr_sparse_worker *worker,
                                        const uint32_t *order, size_t n, size_t i)
{
    enum { ROWS_AHEAD = 4, WEIGHTS_AHEAD = 1, LINE_PAIRS = 64 / sizeof(struct hr_sparse_pair) };
    const struct hr_sparse_rows *rows = &worker->run->problem.train;
    if (i + ROWS_AHEAD < n) {
        const struct hr_sparse_row far = hr_sparse_row_at(rows, order[i + ROWS_AHEAD]);
        for (size_t k = 0; k < far.count; k += LINE_PAIRS)
            __builtin_prefetch(&far.pairs[k]);
    }
    if (worker->reaches && i + WEIGHTS_AHEAD < n) {
        const struct hr_sparse_row near = hr_sparse_row_at(rows, order[i + WEIGHTS_AHEAD]);
        for (size_t k = 0; k < near.count; k++)
            if (near.pairs[k].column >= worker->hot)
                __builtin_prefetch(&worker->run->weights[near.pairs[k].column], 1);
    }
}

/* The update of row `row`, under the lock if there is one; sometimes checks for lost updates. */
static inline enum hr_status hr_sparse_push(struct hr_sparse_worker *worker,
                                            struct hr_sparse_row row,
                                            const struct hr_sparse_step *s)
{
    struct hr_sparse_run *run = worker->run;
    struct hr_sparse_tally *tally = worker->tally;
    if (run->locked)
        HR_TRY(hr_sparse_lock_take(worker));
    if (tally->updates++ % HR_SPARSE_LOOK_EVERY == 0) {
        tally->lost += hr_sparse_update_looking(run->weights, row, s);
        tally->looked_at += row.count;
    } else {
        hr_sparse_update(run->weights, row, s);
    }
    if (run->locked)
        hr_sparse_lock_leave(worker);
    return HR_OK;
}

/* Refuse also margins so large that a weight may become infinite next. `help` is what may help. */
static inline enum hr_status hr_sparse_check(float value, const char *what, size_t row,
                                             const char *help)
{
    if (fabsf(value) < 1e30f) /* false for NaN */
        return HR_OK;
    return hr_fail(HR_E_DIVERGED,
                   "the %s of training row %zu is %g: expected a finite number; a smaller %s "
                   "may help, and so may smaller values in the data",
                   what, row + 1, isnan(value) ? (double)NAN : (double)value, help);
}

#endif
