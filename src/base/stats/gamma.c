/* Below a + 1 a series for the lower tail; above it a continued fraction for the upper one: both
 * are quick there, and each tail is computed where it is the small one. */
#include "stats/gamma.h"

#include <float.h>
#include <math.h>

enum { TERMS_MOST = 100000 };

/* x^n / (a (a + 1) ... (a + n)), summed. */
static double series(double a, double x)
{
    double term = 1 / a, sum = term;
    for (int n = 1; n < TERMS_MOST && term > sum * DBL_EPSILON / 4; n++) {
        term *= x / (a + n);
        sum += term;
    }
    return sum;
}

/* 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - 2 (2 - a) / ...)), from its front by Lentz's method.
 * For x > a + 1 no denominator vanishes. */
static double fraction(double a, double x)
{
    double b = x + 1 - a, c = INFINITY, d = 1 / b, product = d;
    for (int n = 1; n < TERMS_MOST; n++) {
        const double an = -n * (n - a);
        b += 2;
        d = 1 / (an * d + b);
        c = b + an / c;
        product *= c * d;
        if (fabs(c * d - 1) < 4 * DBL_EPSILON)
            break;
    }
    return product;
}

double hr_gamma_upper(double a, double x)
{
    if (x <= 0)
        return 1;
    if (isinf(x))
        return 0;
    const double front = exp(a * log(x) - x - lgamma(a));
    return x < a + 1 ? 1 - front * series(a, x) : front * fraction(a, x);
}
