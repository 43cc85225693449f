#include "netsim/delay_fit.h"

#include <math.h>
#include <stdlib.h>

static const double most_distance = 0.05, most_mean_off = 0.02;

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The largest distance of n sorted durations from that lognormal (Kolmogorov-Smirnov): taken on
 * both sides of each step of the measured distribution. */
static double distance_of(const double *ns, size_t n, double mu, double sigma)
{
    double most = 0;
    for (size_t i = 0; i < n;) {
        size_t next = i + 1;
        while (next < n && ns[next] == ns[i])
            next++;
        const double model = 0.5 * erfc((mu - log(ns[i])) / (sigma * sqrt(2)));
        most = fmax(most, fabs(model - (double)i / (double)n));
        most = fmax(most, fabs(model - (double)next / (double)n));
        i = next;
    }
    return most;
}

struct hr_delay_fit hr_delay_fit(double *ns, size_t n)
{
    double sum = 0, mu = 0, square = 0;
    for (size_t i = 0; i < n; i++) {
        ns[i] = ns[i] < 1 ? 1 : ns[i];
        sum += ns[i];
        mu += log(ns[i]) / (double)n;
    }
    for (size_t i = 0; i < n; i++)
        square += (log(ns[i]) - mu) * (log(ns[i]) - mu) / (double)n;
    qsort(ns, n, sizeof *ns, compare);
    struct hr_delay_fit fit = {
        .delay = {.kind = HR_DELAY_LOGNORMAL,
                  .time_ps = 1000 * llround(exp(mu)),
                  .shape = round(1e5 * sqrt(square)) / 1e5},
        .mean_ns = sum / (double)n,
    };
    fit.mean_off = exp(mu + square / 2) / fit.mean_ns - 1;
    if (fit.delay.shape == 0) { /* always the same */
        fit.delay.kind = HR_DELAY_CONSTANT;
    } else {
        fit.distance = distance_of(ns, n, mu, fit.delay.shape);
    }
    fit.good = fit.distance <= most_distance && fabs(fit.mean_off) <= most_mean_off;
    return fit;
}
