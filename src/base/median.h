/* median.h - the middle of some measurements: half of them may be disturbed, and it stands. */
#ifndef HR_BASE_MEDIAN_H
#define HR_BASE_MEDIAN_H

#include <stddef.h>

/* Ascending. */
void hr_sort(double *x, size_t n);

/* The middle value, or the mean of the two in the middle; sorts x (n). NaN when n is 0. */
double hr_median(double *x, size_t n);

/* The median, and where that of what x was drawn from lies with 95 %: between two values of x as
 * many from the ends as the binomial law allows. Below 6 values that is from the least to the most,
 * and less sure. NaN when n is 0.
 * Source: David, Nagaraja: "Order Statistics", 2003, section 7.1. */
struct hr_middle {
    double median, low, high;
};
struct hr_middle hr_middle(double *x, size_t n); /* sorts x (n) */

/* How far it is from low to high, as a share of the median. */
double hr_middle_spread(struct hr_middle middle);

#endif
