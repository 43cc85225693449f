/* distributions.h - the distributions that tests and intervals come from.
 *
 * Threads: pure functions. Test: tests/unit/stats/test_student.c */
#ifndef HR_STATS_DISTRIBUTIONS_H
#define HR_STATS_DISTRIBUTIONS_H

/* --- beta --- */

/* The incomplete beta function, of which Student's t and its relatives are made. */

/* I_x(a, b), the regularized incomplete beta function; a, b > 0, 0 <= x <= 1. */
double hr_beta_incomplete(double a, double b, double x);

/* --- student --- */

/* Student's t, and the noncentral t of a test whose hypothesis is false.
 *
 * df > 0 degrees of freedom need not be whole. Relative errors are below 1e-9, but for tails of
 * the noncentral t below 1e-12, of which only the size is right.
 *
 * Source: R. V. Lenth, "Algorithm AS 243: cumulative distribution function of the non-central t
 *     distribution", Applied Statistics 38, 1989. */

/* P(T <= t). */
double hr_student_cdf(double t, double df);

/* P(|T| >= |t|), which keeps its digits however small it is. */
double hr_student_two_sided(double t, double df);

/* The t with P(T <= t) = p, 0 < p < 1. */
double hr_student_quantile(double p, double df);

/* P(T <= t) when T's numerator has the mean delta in place of 0: (Z + delta) / sqrt(chi2 / df). */
double hr_noncentral_t_cdf(double t, double df, double delta);

/* The delta with hr_noncentral_t_cdf(t, df, delta) = p: what an interval of an effect ends at. */
double hr_noncentral_t_delta(double t, double df, double p);

#endif
