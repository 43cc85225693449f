/* histogram.h - quantiles of what was counted in buckets 0, 1, 2, ... */
#ifndef HR_TRAIN_HISTOGRAM_H
#define HR_TRAIN_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

/* The smallest index at which the running sum reaches the fraction q of all; 0 for an empty one. */
size_t hr_histogram_quantile(const uint64_t *counts, size_t n, double q);

#endif
