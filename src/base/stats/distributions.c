#include "stats/distributions.h"

#include <float.h>
#include <math.h>

#include "base/error.h"

/* --- beta --- */

/* The continued fraction of I_x(a, b), or that of its mirror image, whichever is quick. */

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

/* --- gamma --- */

/* Below a + 1 a series for the lower tail; above it a continued fraction for the upper one: both
 * are quick there, and each tail is computed where it is the small one. */

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

/* Q(a, x), the integral of s^(a-1) e^-s from x on, over gamma(a); a > 0, x >= 0. P(chi2 > y) with
 * df degrees of freedom is Q(df / 2, y / 2). Relative error below 1e-12 of the smaller tail.
 * Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 6.5.29 and 6.5.31. */
static double gamma_upper(double a, double x)
{
    if (x <= 0)
        return 1;
    if (isinf(x))
        return 0;
    const double front = exp(a * log(x) - x - lgamma(a));
    return x < a + 1 ? 1 - front * series(a, x) : front * fraction(a, x);
}

/* --- student --- */

/* Student's t by the incomplete beta function; quantiles by bisection of the cumulative function,
 * until no number is between the two ends.
 *
 * The noncentral t is a mixture of beta functions with Poisson's weights (Lenth's formula, for
 * t >= 0, with x = t^2 / (df + t^2) and m = delta^2 / 2):
 *
 *   P(T <= t) = Phi(-delta) + 1/2 sum_j [p_j I_x(j + 1/2, df/2) + q_j I_x(j + 1, df/2)]
 *   p_j = exp(-m) m^j / j!      q_j = delta / sqrt(2) exp(-m) m^j / Gamma(j + 3/2)
 *
 * Lenth begins at j = 0, where exp(-m) is 0 for a large delta. Here the sum begins at its largest
 * weight, j = m, and goes both ways until what is added is nothing. Where delta is larger yet an
 * integral takes its place. */

/* Computed as the small tail itself: 1 - cdf would lose all digits of a tiny p. */
double hr_student_two_sided(double t, double df)
{
    return isinf(t) ? 0 : hr_beta_incomplete(df / 2, 0.5, df / (df + t * t));
}

double hr_student_cdf(double t, double df)
{
    const double tail = hr_student_two_sided(t, df) / 2;
    return t < 0 ? tail : 1 - tail;
}

double hr_student_quantile(double p, double df)
{
    HR_ASSERT(p > 0 && p < 1);
    if (p == 0.5)
        return 0;
    const double tail = 2 * fmin(p, 1 - p);
    double low = 0, high = 1;
    while (hr_student_two_sided(high, df) > tail && high < DBL_MAX / 2)
        high *= 2;
    for (double t = (low + high) / 2; t > low && t < high; t = (low + high) / 2)
        *(hr_student_two_sided(t, df) > tail ? &low : &high) = t;
    return p < 0.5 ? -high : high;
}

/* --- noncentral */

static double phi(double z)
{
    return erfc(-z / sqrt(2)) / 2;
}

struct mixture {
    double x, df, delta, m;
};

/* The term j of the sum. */
static double term(const struct mixture *s, double j)
{
    const double common = -s->m + (j > 0 ? j * log(s->m) : 0);
    const double p = exp(common - lgamma(j + 1));
    const double q = s->delta / sqrt(2) * exp(common - lgamma(j + 1.5));
    return p * hr_beta_incomplete(j + 0.5, s->df / 2, s->x) +
           q * hr_beta_incomplete(j + 1, s->df / 2, s->x);
}

/* The weights fall from their largest on, and the beta functions with j. Below it the weights
 * alone fall, so the whole way down is as long as some deviations of Poisson's. */
static double mixed(const struct mixture *s)
{
    const double top = floor(s->m), deviations = 12 * sqrt(s->m) + 40;
    double sum = 0;
    for (double j = top; j >= fmax(0, top - deviations); j--)
        sum += term(s, j);
    for (double j = top + 1; j <= top + deviations; j++) {
        const double next = term(s, j);
        sum += next;
        if (fabs(next) < DBL_EPSILON * fabs(sum) / 16)
            break;
    }
    return sum / 2;
}

/* For a large delta the sum has too many terms, but the integral over the numerator's normal part,
 * P(chi2 >= df ((z + delta) / t)^2), is smooth: Simpson's rule, over what z may be. */
static double integrated(double t, double df, double delta)
{
    enum { HALVES = 400 };
    const double end = 12, h = end / HALVES;
    double sum = 0;
    for (int i = -HALVES; i <= HALVES; i++) {
        const double z = i * h, s = (z + delta) / t;
        const double weight = i == -HALVES || i == HALVES ? 1 : (i + HALVES) % 2 ? 4 : 2;
        sum += weight * exp(-z * z / 2) * gamma_upper(df / 2, df * s * s / 2);
    }
    return sum * h / 3 / sqrt(8 * atan(1));
}

double hr_noncentral_t_cdf(double t, double df, double delta)
{
    static const double large = 37; /* beyond it e^(-delta^2 / 2) has no double */
    if (delta == 0)
        return hr_student_cdf(t, df);
    if (t < 0)
        return 1 - hr_noncentral_t_cdf(-t, df, -delta);
    if (isinf(t) || delta < -large)
        return 1;
    if (delta > large)
        return t > 0 ? fmin(1, integrated(t, df, delta)) : 0;
    const double x = t * t / (df + t * t);
    const struct mixture s = {.x = x, .df = df, .delta = delta, .m = delta * delta / 2};
    return fmin(1, fmax(0, phi(-delta) + (t > 0 ? mixed(&s) : 0)));
}

double hr_noncentral_t_delta(double t, double df, double p)
{
    double low = t - 1, high = t + 1; /* the probability falls with delta */
    while (hr_noncentral_t_cdf(t, df, low) < p)
        low -= high - low;
    while (hr_noncentral_t_cdf(t, df, high) > p)
        high += high - low;
    while (high - low > 1e-9 * (1 + fabs(low))) {
        const double delta = (low + high) / 2;
        *(hr_noncentral_t_cdf(t, df, delta) > p ? &low : &high) = delta;
    }
    return (low + high) / 2;
}
