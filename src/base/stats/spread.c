#include "stats/spread.h"

#include <math.h>

#include "stats/distributions.h"

/* --- spread --- */

struct hr_spread hr_spread_of(const double *values, size_t n)
{
    struct hr_spread s = {.n = n};
    if (n == 0)
        return s;
    s.least = s.most = values[0];
    for (size_t i = 0; i < n; i++) {
        s.mean += values[i] / (double)n;
        s.least = fmin(s.least, values[i]);
        s.most = fmax(s.most, values[i]);
    }
    /* Equal values have no spread; rounding of their mean must not make one. */
    if (n < 2 || s.least == s.most) {
        s.mean = isnan(s.mean) ? s.mean : values[0];
        return s;
    }
    double squares = 0;
    for (size_t i = 0; i < n; i++)
        squares += (values[i] - s.mean) * (values[i] - s.mean);
    s.sd = sqrt(squares / (double)(n - 1));
    return s;
}

/* --- interval --- */

/* Wilson, "Probable inference, the law of succession, and statistical inference", 1927. */
struct hr_interval hr_wilson_interval(double fraction, double n)
{
    const double z = 1.959963984540054, zz = z * z / n;
    const double middle = (fraction + zz / 2) / (1 + zz);
    const double half = z * sqrt(fraction * (1 - fraction) / n + zz / (4 * n)) / (1 + zz);
    return (struct hr_interval){fraction > 0 ? fmax(0, middle - half) : 0,
                                fraction < 1 ? fmin(1, middle + half) : 1};
}

struct hr_interval hr_mean_interval(const struct hr_spread *spread, double p)
{
    const double n = (double)spread->n;
    const double half = hr_student_quantile(p, n - 1) * spread->sd / sqrt(n);
    return (struct hr_interval){spread->mean - half, spread->mean + half};
}
