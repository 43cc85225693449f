/* welch.h - have two independent samples the same mean? Welch's t test.
 *
 * Threads: pure functions. Test: tests/unit/stats/test_stats.c
 */
#ifndef HR_STATS_WELCH_H
#define HR_STATS_WELCH_H

#include "stats/spread.h"

/* Two-sided p of Welch's t test that the means of two populations are equal. 1 when a sample has
 * n < 2, or when neither varies: without spread there is no scale for the difference (accuracies
 * are counts, so two runs may agree to the last digit by luck). */
double hr_welch_p(const struct hr_spread *a, const struct hr_spread *b);

#endif
