/* beta.h - the incomplete beta function, of which Student's t and its relatives are made.
 *
 * Threads: pure functions. Source: Abramowitz and Stegun, 26.5.8.
 * Test: tests/unit/stats/test_stats.c against sums of binomial terms.
 */
#ifndef HR_STATS_BETA_H
#define HR_STATS_BETA_H

/* I_x(a, b), the regularized incomplete beta function; a, b > 0, 0 <= x <= 1. */
double hr_beta_incomplete(double a, double b, double x);

#endif
