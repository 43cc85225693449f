/* median.h - the middle of some measurements: half of them may be disturbed, and it stands. */
#ifndef HR_BASE_MEDIAN_H
#define HR_BASE_MEDIAN_H

#include <stddef.h>

/* The middle value, or the mean of the two in the middle; sorts x (n). NaN when n is 0. */
double hr_median(double *x, size_t n);

#endif
