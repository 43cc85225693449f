#include "stats/spread.h"

#include <math.h>

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
