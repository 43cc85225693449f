#include "stats/interval.h"

#include <math.h>

#include "stats/student.h"

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
