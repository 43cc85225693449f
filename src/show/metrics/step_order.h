/* step_order.h - steps of all workers in one order: a worker tells in its own, and others are ahead
 * or behind. What several workers tell of one step (a global batch) becomes one.
 *
 *     hr_step_order_add(&order, step);
 *     while (hr_step_order_next(&order, 0, &merged)) ...       no earlier one can come any more
 *     while (hr_step_order_next(&order, step, &merged)) ...    at an evaluation, or a save: none up
 *                                                              to `step` is missing
 *
 * Of a run that outlives ranks, a batch that is handed out again may come late: it comes late here.
 *
 * Threads: none. Test: tests/unit/metrics/test_step_order.c
 */
#ifndef HR_METRICS_STEP_ORDER_H
#define HR_METRICS_STEP_ORDER_H

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "hogring/observer.h"

struct hr_merged_step {
    uint64_t step;
    double seconds;  /* of the last */
    double loss;     /* sum over samples */
    size_t samples;  /* dropped gradients have none here, and no norm */
    uint64_t rows;   /* as in struct hr_step_report */
    double lr, norm; /* the last's rate; the sum of norms, of so many: */
    size_t norms;
};

struct hr_step_order {
    size_t workers;
    uint64_t *newest;               /* (workers) owned: told by each */
    struct hr_merged_step *pending; /* (room) owned: [first, end), in order */
    size_t first, end, room;
};

/* Is it one in `every`, or are such among its rows? */
static inline bool hr_step_is_one_in(uint64_t every, uint64_t step, uint64_t rows)
{
    return step / every != (step - (rows ? rows : 1)) / every;
}

HR_CHECKED enum hr_status hr_step_order_open(struct hr_step_order *order, size_t workers);
/* HR_E_NOMEM: it is dropped. */
HR_CHECKED enum hr_status hr_step_order_add(struct hr_step_order *order,
                                            const struct hr_step_report *step);
bool hr_step_order_next(struct hr_step_order *order, uint64_t complete, struct hr_merged_step *out);
/* Harmless on a zeroed struct. */
void hr_step_order_close(struct hr_step_order *order);

/* --- how stale updates were since an evaluation: what logs say of an epoch --- */

enum { HR_STALE_COUNTS = 1024 };

struct hr_stale_counts {
    uint64_t updates, max;
    double sum, squares;
    uint64_t bucket[HR_STALE_COUNTS]; /* the last holds all above */
};

static inline void hr_stale_counts_add(struct hr_stale_counts *counts, uint64_t staleness)
{
    const double value = (double)staleness;
    counts->updates++;
    counts->sum += value;
    counts->squares += value * value;
    counts->max = staleness > counts->max ? staleness : counts->max;
    counts->bucket[staleness < HR_STALE_COUNTS ? staleness : HR_STALE_COUNTS - 1]++;
}

/* NaN: there were none. */
static inline double hr_stale_counts_mean(const struct hr_stale_counts *counts)
{
    return counts->updates ? counts->sum / (double)counts->updates : (double)NAN;
}

static inline void hr_stale_counts_clear(struct hr_stale_counts *counts)
{
    memset(counts, 0, sizeof *counts);
}

#endif
