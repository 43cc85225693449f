/* stats.h - the statistics that a comparison over a few seeds needs.
 *
 * Threads: pure functions.
 * Test: tests/unit/report/test_stats.c holds values of published tables.
 */
#ifndef HR_REPORT_STATS_H
#define HR_REPORT_STATS_H

#include <stddef.h>
#include <stdint.h>

/* Mean and sample standard deviation (n - 1) of n values; sd is 0 for one value. */
struct hr_spread {
    double mean, sd, least, most;
    size_t n;
};

struct hr_spread hr_spread_of(const double *values, size_t n);

/* I_x(a, b), the regularized incomplete beta function; a, b > 0, 0 <= x <= 1. */
double hr_beta_incomplete(double a, double b, double x);

/* P(T <= t) for Student's t with df > 0 degrees of freedom (not necessarily whole). */
double hr_student_cdf(double t, double df);

/* Two-sided p of Welch's t test that the means of two populations are equal. 1 when a sample has
 * n < 2, or when neither varies: without spread there is no scale for the difference (accuracies
 * are counts, so two runs may agree to the last digit by luck). */
double hr_welch_p(const struct hr_spread *a, const struct hr_spread *b);

/* One test of two samples, by their numbers. */
struct hr_comparison {
    size_t a, b;
    double p;
};

/* Holm's step-down correction: sorts the n comparisons by p and adjusts each p. When those below
 * alpha are called different, the chance of any false call stays below alpha. */
void hr_holm_adjust(struct hr_comparison *comparisons, size_t n);

/* Wilson's 95 % interval for a fraction that was `fraction` of n trials; n > 0. */
struct hr_interval {
    double low, high;
};

struct hr_interval hr_wilson_interval(double fraction, double n);

#endif
