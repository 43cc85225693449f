/* power.h - which differences a test would find, and how many values it needs for one.
 *
 * All for two-sided t tests of a mean at a level (0.05), by the noncentral t (student.h). The
 * spread is taken as known, so with a spread that was itself estimated these are estimates.
 *
 * Threads: pure functions. Test: tests/unit/stats/test_student.c against statsmodels.
 * Source: J. Cohen, Statistical Power Analysis for the Behavioral Sciences, 1988, chapter 2.
 */
#ifndef HR_STATS_POWER_H
#define HR_STATS_POWER_H

#include <stddef.h>

/* The chance that |T| exceeds the critical value at the level, when T's numerator has the mean
 * delta (in units of its own standard deviation). 0 for df < 1. */
double hr_power(double delta, double df, double level);

/* The least mean difference, in standard deviations of the differences, that n pairs tell with the
 * power asked; infinite for n < 2. */
double hr_power_difference(size_t n, double level, double power);

/* How many pairs tell a mean difference of `effect` > 0 standard deviations; at most `most`, which
 * stands for more as well. */
size_t hr_power_pairs(double effect, double level, double power, size_t most);

#endif
