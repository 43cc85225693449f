/* interval.h - where a figure probably is: from low to high.
 *
 * Threads: pure functions. Test: tests/unit/stats/test_stats.c
 */
#ifndef HR_STATS_INTERVAL_H
#define HR_STATS_INTERVAL_H

#include "stats/spread.h"

#include "stats/spread.h"

struct hr_interval {
    double low, high;
};

/* Wilson's 95 % interval for a fraction that was `fraction` of n trials; n > 0. */
struct hr_interval hr_wilson_interval(double fraction, double n);

/* Student's, of the mean of n >= 2 normal values: on each side the chance 1 - p is left out. */
struct hr_interval hr_mean_interval(const struct hr_spread *spread, double p);

#endif
