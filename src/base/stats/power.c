#include "stats/power.h"

#include <math.h>

#include "stats/student.h"

double hr_power(double delta, double df, double level)
{
    if (!(df >= 1))
        return 0;
    const double critical = hr_student_quantile(1 - level / 2, df), d = fabs(delta);
    return 1 - hr_noncentral_t_cdf(critical, df, d) + hr_noncentral_t_cdf(-critical, df, d);
}

/* Power grows with the difference: bisection. */
double hr_power_difference(size_t n, double level, double power)
{
    if (n < 2)
        return INFINITY;
    const double root = sqrt((double)n), df = (double)n - 1;
    double low = 0, high = 1;
    while (hr_power(high * root, df, level) < power)
        high *= 2;
    while (high - low > 1e-9 * high) {
        const double effect = (low + high) / 2;
        *(hr_power(effect * root, df, level) < power ? &low : &high) = effect;
    }
    return high;
}

/* Power grows with the pairs. */
size_t hr_power_pairs(double effect, double level, double power, size_t most)
{
    size_t low = 1, high = 2; /* low is too few */
    while (high < most && hr_power(effect * sqrt((double)high), (double)high - 1, level) < power) {
        low = high;
        high *= 2;
    }
    while (high - low > 1) {
        const size_t n = (low + high) / 2;
        *(hr_power(effect * sqrt((double)n), (double)n - 1, level) < power ? &low : &high) = n;
    }
    return high < most ? high : most;
}
