#include "stats/paired.h"

#include <math.h>
#include <stdlib.h>

#include "stats/spread.h"
#include "stats/student.h"

static const double level = 0.05; /* of the intervals */

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
    paired->of_effect.low = hr_noncentral_t_delta(t, df, 1 - level / 2) / root;
    paired->of_effect.high = hr_noncentral_t_delta(t, df, level / 2) / root;
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
    const double half = hr_student_quantile(1 - level / 2, df) * error;
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
