#include "report/stats.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"

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

/* P(|T| >= t), computed as the small tail itself: 1 - cdf would lose all digits of a tiny p. */
static double student_two_sided(double t, double df)
{
    return isinf(t) ? 0 : hr_beta_incomplete(df / 2, 0.5, df / (df + t * t));
}

double hr_student_cdf(double t, double df)
{
    const double tail = student_two_sided(t, df) / 2;
    return t < 0 ? tail : 1 - tail;
}

double hr_welch_p(const struct hr_spread *a, const struct hr_spread *b)
{
    if (a->n < 2 || b->n < 2)
        return 1;
    const double va = a->sd * a->sd / (double)a->n, vb = b->sd * b->sd / (double)b->n;
    const double variance = va + vb;
    if (!(variance > 0)) /* NaN too */
        return 1;
    const double t = (a->mean - b->mean) / sqrt(variance);
    const double df =
        variance * variance / (va * va / (double)(a->n - 1) + vb * vb / (double)(b->n - 1));
    return isfinite(df) ? student_two_sided(t, df) : 1;
}

static int by_p(const void *x, const void *y)
{
    const struct hr_comparison *a = x, *b = y;
    return (a->p > b->p) - (a->p < b->p);
}

void hr_holm_adjust(struct hr_comparison *comparisons, size_t n)
{
    double least = 0; /* an adjusted p is never below that of a smaller p */
    if (n > 0)
        qsort(comparisons, n, sizeof *comparisons, by_p);
    for (size_t i = 0; i < n; i++) {
        least = fmax(least, fmin(1, comparisons[i].p * (double)(n - i)));
        comparisons[i].p = least;
    }
}

/* Wilson, "Probable inference, the law of succession, and statistical inference", 1927. */
struct hr_interval hr_wilson_interval(double fraction, double n)
{
    const double z = 1.959963984540054, zz = z * z / n;
    const double middle = (fraction + zz / 2) / (1 + zz);
    const double half = z * sqrt(fraction * (1 - fraction) / n + zz / (4 * n)) / (1 + zz);
    return (struct hr_interval){fraction > 0 ? fmax(0, middle - half) : 0,
                                fraction < 1 ? fmin(1, middle + half) : 1};
}
