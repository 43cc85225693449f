#include "stats/tests.h"

#include <math.h>
#include <stdlib.h>

#include "stats/distributions.h"
#include "stats/spread.h"

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
    paired->effect = unbiased(df) * paired->difference / paired->sd;
    paired->of_effect.low = hr_noncentral_t_delta(t, df, 1 - outside / 2) / root;
    paired->of_effect.high = hr_noncentral_t_delta(t, df, outside / 2) / root;
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
