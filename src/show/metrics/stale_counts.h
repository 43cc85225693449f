/* stale_counts.h - how stale updates were since an evaluation: what logs say of an epoch. */
#ifndef HR_METRICS_STALE_COUNTS_H
#define HR_METRICS_STALE_COUNTS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

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
