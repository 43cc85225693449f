/* spread.h - mean and deviation of a few values.
 *
 * Threads: pure functions. Test: tests/unit/stats/test_stats.c
 */
#ifndef HR_STATS_SPREAD_H
#define HR_STATS_SPREAD_H

#include <stddef.h>

/* Mean and sample standard deviation (n - 1) of n values; sd is 0 for one value. */
struct hr_spread {
    double mean, sd, least, most;
    size_t n;
};

struct hr_spread hr_spread_of(const double *values, size_t n);

#endif
