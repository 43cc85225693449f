#include "gate/band.h"

#include <math.h>
#include <stdlib.h>

#include "stats/tests.h"
#include "stats/spread.h"
#include "stats/distributions.h"

/* Left out on each side. */
static size_t trimmed(size_t n)
{
    return n / 5 ? n / 5 : 1;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of sorted values. */
static double trimmed_mean(const double *values, size_t n)
{
    return hr_spread_of(values + trimmed(n), n - 2 * trimmed(n)).mean;
}

/* The deviation of one value, as the trimmed mean's is that over sqrt(n): of sorted values, whose
 * outer ones are taken to be as the outermost that are kept. */
static double deviation(const double *values, size_t n)
{
    const size_t g = trimmed(n);
    double mean = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        mean += values[i < g ? g : i >= n - g ? n - g - 1 : i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        const double off = values[i < g ? g : i >= n - g ? n - g - 1 : i] - mean;
        squares += off * off;
    }
    const double kept = (double)(n - 2 * g);
    return sqrt((double)n * squares / (kept * (kept - 1)));
}

static bool are_numbers(const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

struct hr_gate_band hr_gate_band_of(double *seen, size_t n, double *fresh, size_t k, double step,
                                    double level)
{
    const bool numbers = are_numbers(fresh, k);
    qsort(seen, n, sizeof *seen, by_size);
    if (numbers)
        qsort(fresh, k, sizeof *fresh, by_size);
    struct hr_gate_band band = {.mean = trimmed_mean(seen, n),
                                .sd = fmax(deviation(seen, n), step / 2),
                                .n = n,
                                .k = k,
                                .kept = n - 2 * trimmed(n),
                                .now = numbers ? trimmed_mean(fresh, k) : (double)NAN,
                                .level = level,
                                .p = numbers ? hr_rank_sum_p(seen, n, fresh, k) : 0};
    const double t = hr_student_quantile(1 - level / 2, (double)band.kept - 1);
    const double half = t * band.sd * sqrt(1 / (double)n + 1 / (double)k);
    band.interval = (struct hr_interval){band.mean - half, band.mean + half};
    const bool within = band.now >= band.interval.low && band.now <= band.interval.high;
    const double least = fmax(level, hr_rank_sum_least(n, k));
    band.outside = !within && band.p <= least * (1 + 1e-9);
    return band;
}

double hr_gate_band_told(const struct hr_gate_band *band)
{
    const double n = (double)band->n, k = (double)band->k, kept = (double)band->kept;
    /* That of pairs is in deviations of a mean of `kept`; this mean's is sd sqrt(1/n + 1/k). */
    const double of_mean = hr_power_difference(band->kept, band->level, HR_GATE_POWER) * sqrt(kept);
    return of_mean * band->sd * sqrt(1 / n + 1 / k);
}
