/* delay_fit.h - measured durations as a model: the lognormal that is nearest, and how near it is.
 *
 * Fit:       mean and standard deviation of the logarithms (the most likely ones).
 * Good:      no more than 0.05 from the measured distribution (Kolmogorov-Smirnov), and the means
 *            differ by no more than 2 %: the second because rare long ones make up the time of a
 *            step and hardly move the distance. Otherwise the durations themselves are the better
 *            model: trace:FILE.
 * Threads:   pure functions.
 * Test:      tests/unit/netsim/test_delay_fit.c
 */
#ifndef HR_NETSIM_DELAY_FIT_H
#define HR_NETSIM_DELAY_FIT_H

#include "netsim/delay.h"

struct hr_delay_fit {
    struct hr_delay delay; /* lognormal; nothing to free */
    double distance;       /* 0 to 1 */
    double mean_ns;        /* measured */
    double mean_off;       /* of the model, relative: 0.01 is 1 % too long */
    bool good;
};

/* Fit to ns (n > 0), durations in nanoseconds, which are sorted. What is below 1 counts as 1. The
 * model is in whole nanoseconds, its sigma of five digits. */
struct hr_delay_fit hr_delay_fit(double *ns, size_t n);

#endif
