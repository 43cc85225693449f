/* prediction.h - where further values of a normal sample will be.
 *
 * Threads: pure functions. Test: tests/unit/stats/test_student.c against scipy.
 * Source: G. J. Hahn and W. Q. Meeker, Statistical Intervals, 1991, 4.7 and 4.8.
 */
#ifndef HR_STATS_PREDICTION_H
#define HR_STATS_PREDICTION_H

#include <stddef.h>

#include "stats/interval.h"
#include "stats/spread.h"

/* The mean of k further values is within with the probability `share`, k > 0:
 * mean +- t sd sqrt(1/k + 1/n). All numbers for n < 2. */
struct hr_interval hr_predict_mean(const struct hr_spread *seen, size_t k, double share);

/* All of k further values are within with at least the probability `share` (Bonferroni's). */
struct hr_interval hr_predict_each(const struct hr_spread *seen, size_t k, double share);

#endif
