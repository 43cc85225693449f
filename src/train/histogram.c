#include "train/histogram.h"

size_t hr_histogram_quantile(const uint64_t *counts, size_t n, double q)
{
    double total = 0, sum = 0;
    for (size_t i = 0; i < n; i++)
        total += (double)counts[i];
    for (size_t i = 0; i < n && total > 0; i++) {
        sum += (double)counts[i];
        if (sum >= q * total)
            return i;
    }
    return 0;
}
