#include "stats/tests.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"

/* --- distributions --- */

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

/* --- spreads --- */

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

struct hr_interval hr_mean_interval(const struct hr_spread *spread, double level)
{
    const double n = (double)spread->n;
    const double half = hr_student_quantile((1 + level) / 2, n - 1) * spread->sd / sqrt(n);
    return (struct hr_interval){spread->mean - half, spread->mean + half};
}

/* --- paired --- */

static const double outside = 0.05; /* of the intervals */

/* What is known of a mean without a scale for it. */
static struct hr_paired unscaled(size_t n, double difference)
{
    const struct hr_interval all = {-INFINITY, INFINITY}, unknown = {NAN, NAN};
    return (struct hr_paired){.n = n,
                              .difference = difference,
                              .sd = NAN,
                              .interval = all,
                              .p = 1,
                              .effect = NAN,
                              .of_effect = unknown};
}

/* Hedges' factor, Gamma(df / 2) / (sqrt(df / 2) Gamma((df - 1) / 2)). */
static double unbiased(double df)
{
    return exp(lgamma(df / 2) - lgamma((df - 1) / 2)) / sqrt(df / 2);
}

static void add_effect(struct hr_paired *paired, double t)
{
    const double root = sqrt((double)paired->n), df = (double)paired->n - 1;
    if (paired->n < 3)
        return;
    const double factor = unbiased(df);
    paired->effect = factor * paired->difference / paired->sd;
    paired->of_effect.low = factor * hr_noncentral_t_delta(t, df, 1 - outside / 2) / root;
    paired->of_effect.high = factor * hr_noncentral_t_delta(t, df, outside / 2) / root;
}

static struct hr_spread of_differences(const double *a, const double *b, size_t n)
{
    struct hr_spread spread = {.mean = NAN};
    double *difference = malloc((n + 1) * sizeof *difference);
    if (!difference)
        return spread;
    for (size_t i = 0; i < n; i++)
        difference[i] = a[i] - b[i];
    spread = hr_spread_of(difference, n);
    free(difference);
    return spread;
}

struct hr_paired hr_paired_test(const double *a, const double *b, size_t n, double step)
{
    const struct hr_spread spread = of_differences(a, b, n);
    struct hr_paired paired = unscaled(n, n ? spread.mean : (double)NAN);
    const double sd = fmax(spread.sd, step / 2), df = (double)n - 1;
    if (n < 2 || !isfinite(spread.sd) || sd <= 0)
        return paired;
    const double error = sd / sqrt((double)n), t = spread.mean / error;
    const double half = hr_student_quantile(1 - outside / 2, df) * error;
    paired.sd = sd;
    paired.interval = (struct hr_interval){spread.mean - half, spread.mean + half};
    paired.p = hr_student_two_sided(t, df);
    add_effect(&paired, t);
    return paired;
}

double hr_paired_not_below(const struct hr_paired *paired, double margin)
{
    if (paired->n < 2 || !isfinite(paired->sd))
        return 1;
    const double error = paired->sd / sqrt((double)paired->n);
    return hr_student_cdf(-(paired->difference + margin) / error, (double)paired->n - 1);
}

double hr_paired_not_above(const struct hr_paired *paired, double margin)
{
    struct hr_paired mirrored = *paired;
    mirrored.difference = -paired->difference;
    return hr_paired_not_below(&mirrored, margin);
}

/* --- holm --- */

static int by_p(const void *x, const void *y)
{
    const struct hr_comparison *a = x, *b = y;
    return (a->p > b->p) - (a->p < b->p);
}

void hr_holm_adjust_of(struct hr_comparison *comparisons, size_t n, size_t wrong)
{
    double least = 0; /* an adjusted p is never below that of a smaller p */
    if (n > 0)
        qsort(comparisons, n, sizeof *comparisons, by_p);
    for (size_t i = 0; i < n; i++) {
        const size_t factor = n - i < wrong ? n - i : wrong;
        least = fmax(least, fmin(1, comparisons[i].p * (double)factor));
        comparisons[i].p = least;
    }
}

void hr_holm_adjust(struct hr_comparison *comparisons, size_t n)
{
    hr_holm_adjust_of(comparisons, n, n);
}

/* --- power --- */

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

/* --- rank sum --- */

/* The number of orders in which U is u is the coefficient of q^u in
 *
 *     (1 - q^(n+1)) ... (1 - q^(n+k)) / (1 - q) ... (1 - q^k),
 *
 * which is multiplied out factor by factor; as shares of all orders, they stay near 1.
 */

/* P(U <= u) where it is exact. */
static double cumulative(size_t n, size_t k, size_t u)
{
    double count[HR_RANK_SUM_EXACT + 1] = {1}, sum = 0;
    const size_t most = n * k;
    for (size_t i = 1; i <= k; i++) {
        for (size_t at = most; at >= n + i; at--)
            count[at] -= count[at - n - i];
        for (size_t at = i; at <= most; at++)
            count[at] += count[at - i];
        for (size_t at = 0; at <= most; at++) /* of C(n + i, i) orders */
            count[at] *= (double)i / (double)(n + i);
    }
    for (size_t at = 0; at <= u; at++)
        sum += count[at];
    return fmax(sum, 0); /* rounded: its size is right down to 1e-13 */
}

static double p_of(size_t n, size_t k, size_t u)
{
    const double pairs = (double)(n * k);
    if (n == 0 || k == 0)
        return 1;
    if (n * k <= HR_RANK_SUM_EXACT)
        return fmin(1, 2 * cumulative(n, k, u));
    const double sd = sqrt(pairs * (double)(n + k + 1) / 12);
    return fmin(1, erfc((pairs / 2 - (double)u - 0.5) / sd / sqrt(2)));
}

double hr_rank_sum_p(const double *a, size_t n, const double *b, size_t k)
{
    size_t twice = 0; /* U */
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < k; j++)
            twice += b[j] > a[i] ? 2 : !(b[j] < a[i]);
    const size_t other = 2 * n * k - twice, less = twice < other ? twice : other;
    return p_of(n, k, (less + 1) / 2); /* half a pair counts towards the middle */
}

double hr_rank_sum_least(size_t n, size_t k)
{
    return p_of(n, k, 0);
}

/* --- components --- */

/* Mean squares between and within groups; their expectations are
 *
 *   E[within]  = w^2              E[between] = w^2 + n0 b^2
 *   n0 = (n - sum n_g^2 / n) / (groups - 1), the size of the groups when all have the same */

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
