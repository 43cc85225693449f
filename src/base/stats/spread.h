/* spread.h - means, deviations, and the interval of a share.
 *
 * Threads: pure functions. Test: tests/unit/stats/ */
#ifndef HR_STATS_SPREAD_H
#define HR_STATS_SPREAD_H

#include <stddef.h>

/* --- spread --- */

/* Mean and deviation of a few values. */

/* Mean and sample standard deviation (n - 1) of n values; sd is 0 for one value. */
struct hr_spread {
    double mean, sd, least, most;
    size_t n;
};

struct hr_spread hr_spread_of(const double *values, size_t n);

/* --- interval --- */

/* Where a figure probably is: from low to high. */

struct hr_interval {
    double low, high;
};

/* Wilson's 95 % interval for a fraction that was `fraction` of n trials; n > 0. */
struct hr_interval hr_wilson_interval(double fraction, double n);

/* Student's, of the mean of n >= 2 normal values: on each side the chance 1 - p is left out. */
struct hr_interval hr_mean_interval(const struct hr_spread *spread, double p);

#endif
