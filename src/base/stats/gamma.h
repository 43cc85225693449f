/* gamma.h - the incomplete gamma function: tails of chi squared.
 *
 * Threads: pure functions.
 * Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 6.5.29 and 6.5.31.
 * Test: tests/unit/stats/test_student.c against scipy
 */
#ifndef HR_STATS_GAMMA_H
#define HR_STATS_GAMMA_H

/* Q(a, x), the integral of s^(a-1) e^-s from x on, over gamma(a); a > 0, x >= 0. P(chi2 > y) with
 * df degrees of freedom is Q(df / 2, y / 2). Relative error below 1e-12 of the smaller tail. */
double hr_gamma_upper(double a, double x);

#endif
