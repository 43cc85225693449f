/* Mean squares between and within groups; their expectations are
 *
 *   E[within]  = w^2              E[between] = w^2 + n0 b^2
 *   n0 = (n - sum n_g^2 / n) / (groups - 1), the size of the groups when all have the same */
#include "stats/components.h"

#include <math.h>

#include "stats/beta.h"
#include "stats/spread.h"

/* P(F >= f) with d1 and d2 degrees of freedom. */
static double f_tail(double f, double d1, double d2)
{
    return hr_beta_incomplete(d2 / 2, d1 / 2, d2 / (d2 + d1 * f));
}

struct sums {
    double between, within, squared_counts; /* sums of squares; of n_g^2 */
};

static struct sums sum_up(const double *values, const size_t *count, size_t groups, double mean)
{
    struct sums sums = {0};
    for (size_t g = 0; g < groups; values += count[g++]) {
        if (count[g] == 0)
            continue;
        const struct hr_spread s = hr_spread_of(values, count[g]);
        const double n = (double)count[g];
        sums.between += n * (s.mean - mean) * (s.mean - mean);
        sums.within += (n - 1) * s.sd * s.sd;
        sums.squared_counts += n * n;
    }
    return sums;
}

struct hr_components hr_components_of(const double *values, const size_t *count, size_t groups)
{
    struct hr_components c = {.between = NAN, .within = NAN, .share = NAN, .p = 1};
    for (size_t g = 0; g < groups; g++) {
        c.groups += count[g] > 0;
        c.n += count[g];
    }
    if (c.groups < 2 || c.n == c.groups)
        return c;
    const double n = (double)c.n, d1 = (double)c.groups - 1, d2 = n - (double)c.groups;
    const struct sums sums = sum_up(values, count, groups, hr_spread_of(values, c.n).mean);
    const double within = sums.within / d2, between = sums.between / d1;
    const double n0 = (n - sums.squared_counts / n) / d1;
    const double b2 = fmax(0, (between - within) / n0);
    c.within = sqrt(within);
    c.between = sqrt(b2);
    if (within + b2 > 0)
        c.share = b2 / (within + b2);
    if (within > 0)
        c.p = f_tail(between / within, d1, d2);
    return c;
}
