/* stats.h - the little statistics that a comparison over a few seeds needs.
 *
 * Threads: pure functions.
 * Test: tests/report/test_stats.c holds values of published tables.
 */
#ifndef HR_REPORT_STATS_H
#define HR_REPORT_STATS_H

#include <stdbool.h>
#include <stddef.h>

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

/* Two-sided p of Welch's t test that the means behind two samples are equal. Needs n >= 2 on both
 * sides, else 1. Also 1 when neither sample varies at all: without any spread nothing says how far
 * apart is far (accuracies are counts, so two runs may agree to the last digit by luck). */
double hr_welch_p(const struct hr_spread *a, const struct hr_spread *b);

/* Holm's step-down correction: p[i] becomes the adjusted p, so that rejecting where it is below
 * alpha keeps the chance of any false rejection among the n below alpha. n <= HR_HOLM_MAX. */
enum { HR_HOLM_MAX = 4096 };
void hr_holm_adjust(double *p, size_t n);

/* The smallest index at which the histogram's running sum reaches the fraction q of all; 0 for an
 * empty one. */
size_t hr_histogram_quantile(const unsigned long long *counts, size_t n, double q);

#endif
