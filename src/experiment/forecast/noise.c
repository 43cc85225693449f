/* The estimate is a ratio of two U-statistics, each a mean over gradients or pairs. Leaving
 * gradient k out takes its square and its products with all others away, so that each of the
 * jackknife's n estimates costs one row sum. */
#include "forecast/noise.h"

#include <math.h>

/* Sums over the matrix of products, but for one gradient. */
struct sums {
    double squares, pairs; /* of c_ii; of c_ij over i != j, both ways */
};

static struct sums sum_up(const double *products, size_t n, double *row)
{
    struct sums all = {0};
    for (size_t i = 0; i < n; i++) {
        row[i] = 0;
        for (size_t j = 0; j < n; j++)
            row[i] += i == j ? 0 : products[i * n + j];
        all.squares += products[i * n + i];
        all.pairs += row[i];
    }
    return all;
}

struct pair {
    double trace, gradient2;
};

static struct pair estimate(struct sums sums, size_t n, size_t batch)
{
    const double between = sums.pairs / ((double)n * (double)(n - 1));
    return (struct pair){(double)batch * (sums.squares / (double)n - between), between};
}

/* Variances and covariance of the two estimates, each of n - 1 of the gradients. */
struct spread {
    double trace, gradient2, both;
};

static struct spread jackknife(const double *products, size_t n, size_t batch)
{
    double row[HR_NOISE_BATCHES];
    struct pair without[HR_NOISE_BATCHES], mean = {0};
    struct spread out = {0};
    const struct sums all = sum_up(products, n, row);
    for (size_t k = 0; k < n; k++) {
        const struct sums rest = {all.squares - products[k * n + k], all.pairs - 2 * row[k]};
        without[k] = estimate(rest, n - 1, batch);
        mean.trace += without[k].trace / (double)n;
        mean.gradient2 += without[k].gradient2 / (double)n;
    }
    for (size_t k = 0; k < n; k++) {
        const double trace = without[k].trace - mean.trace;
        const double gradient2 = without[k].gradient2 - mean.gradient2;
        out.trace += trace * trace;
        out.gradient2 += gradient2 * gradient2;
        out.both += trace * gradient2;
    }
    const double factor = (double)(n - 1) / (double)n;
    return (struct spread){factor * out.trace, factor * out.gradient2, factor * out.both};
}

/* Student's t at 97.5 % by its expansion around the normal quantile (Abramowitz and Stegun 26.7.5);
 * within 0.01 from 4 degrees of freedom on. */
static double student(double degrees)
{
    const double z = 1.959964, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
    return z + (z3 + z) / (4 * degrees) + (5 * z5 + 16 * z3 + 3 * z) / (96 * degrees * degrees) +
           (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * degrees * degrees * degrees);
}

/* All ratios r for which trace - r gradient2 is not told from 0: r^2 A - 2 r B + C <= 0. */
static void fieller(struct pair mean, struct spread spread, double t, struct hr_noise *out)
{
    const double t2 = t * t;
    const double a = mean.gradient2 * mean.gradient2 - t2 * spread.gradient2;
    const double b = mean.trace * mean.gradient2 - t2 * spread.both;
    const double c = mean.trace * mean.trace - t2 * spread.trace;
    const double inside = b * b - a * c, root = sqrt(fmax(0, inside));
    const bool bounded = a > 0 && mean.gradient2 > 0;
    out->high = bounded ? fmax(0, (b + root) / a) : (double)INFINITY;
    /* The smaller root of the two, in the form that does not cancel; without an upper end all
     * ratios from the positive root on, or all there are. */
    out->low = b + root > 0 && (bounded || inside >= 0) ? fmax(0, c / (b + root)) : 0;
}

struct hr_noise hr_noise_estimate(const double *products, size_t n, size_t batch)
{
    double row[HR_NOISE_BATCHES];
    const struct pair mean = estimate(sum_up(products, n, row), n, batch);
    struct hr_noise out = {.batches = n,
                           .batch = batch,
                           .gradient2 = mean.gradient2,
                           .trace = mean.trace,
                           .scale = mean.gradient2 > 0 ? fmax(0, mean.trace) / mean.gradient2
                                                       : (double)INFINITY};
    fieller(mean, jackknife(products, n, batch), student((double)(n - 1)), &out);
    return out;
}

double hr_noise_cost(double scale, double from, double to)
{
    if (isinf(scale))
        return 1;
    return (scale + to) / (scale + from);
}
