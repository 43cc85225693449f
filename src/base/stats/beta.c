/* The continued fraction of I_x(a, b), or that of its mirror image, whichever is quick. */
#include "stats/beta.h"

#include <float.h>
#include <math.h>

#include "base/error.h"

/* The coefficient d_j of the continued fraction 1 / (1 + d1/(1 + d2/(1 + ...))) of I_x(a, b)
 * (Abramowitz and Stegun 26.5.8). */
static double coefficient(double a, double b, double x, int j)
{
    const double m = j / 2;
    if (j % 2 == 0)
        return m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    return -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
}

static double away_from_zero(double x)
{
    return fabs(x) < DBL_MIN / DBL_EPSILON ? DBL_MIN / DBL_EPSILON : x;
}

/* Lentz's method, as modified by Thompson and Barnett: 1 + d1/(1 + ...) from its front, a product
 * of ratios C_j * D_j that tend to 1. Quick for x < (a + 1) / (a + b + 2). */
static double lentz(double a, double b, double x)
{
    enum { MAX_TERMS = 10000 };
    double c = 1, d = 0, f = 1;
    for (int j = 1; j < MAX_TERMS; j++) {
        const double dj = coefficient(a, b, x, j);
        d = 1 / away_from_zero(1 + dj * d);
        c = away_from_zero(1 + dj / c);
        f *= c * d;
        if (fabs(c * d - 1) < 4 * DBL_EPSILON)
            break;
    }
    return 1 / f;
}

double hr_beta_incomplete(double a, double b, double x)
{
    HR_ASSERT(a > 0 && b > 0 && x >= 0 && x <= 1);
    if (x == 0 || x == 1)
        return x;
    const double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * lentz(a, b, x) / a;
    return 1 - front * lentz(b, a, 1 - x) / b;
}
