#include "base/median.h"

#include <math.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void hr_sort(double *x, size_t n)
{
    qsort(x, n, sizeof *x, ascending);
}

double hr_median(double *x, size_t n)
{
    if (n == 0)
        return NAN;
    hr_sort(x, n);
    return (x[(n - 1) / 2] + x[n / 2]) / 2;
}

struct hr_middle hr_middle(double *x, size_t n)
{
    const double median = hr_median(x, n);
    if (n == 0)
        return (struct hr_middle){NAN, NAN, NAN};
    size_t out = 0; /* values left out at each end */
    double term = pow(0.5, (double)n), tail = term;
    for (;; out++) { /* tail: the chance that the median lies beyond x[out + 1] on one side */
        term *= (double)(n - out) / (double)(out + 1);
        tail += term;
        if (2 * tail > 0.05)
            break;
    }
    return (struct hr_middle){median, x[out], x[n - 1 - out]};
}

double hr_middle_spread(struct hr_middle middle)
{
    return (middle.high - middle.low) / middle.median;
}
