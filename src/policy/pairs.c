#include "policy/pairs.h"

#include <math.h>
#include <string.h>

/* With theta = atan(t / sqrt(df)) a finite sum of powers of its cosine, odd or even ones. */
double hr_pairs_within(double t, size_t df)
{
    static const double pi = 3.14159265358979323846;
    const double theta = atan(t / sqrt((double)df)), c = cos(theta), s = sin(theta);
    double term = df % 2 ? c : 1, sum = df == 1 ? 0 : term;
    for (size_t k = df % 2 ? 3 : 2; k + 1 < df; k += 2) {
        term *= c * c * (double)(k - 1) / (double)k;
        sum += term;
    }
    return df % 2 ? 2 / pi * (theta + s * sum) : s * sum;
}

double hr_pairs_limit(size_t df)
{
    enum { HALVINGS = 200 };
    double low = 0, high = 100; /* 12.7 of one degree of freedom is the largest */
    for (size_t i = 0; i < HALVINGS; i++) {
        const double middle = (low + high) / 2;
        *(hr_pairs_within(middle, df) < 0.95 ? &low : &high) = middle;
    }
    return (low + high) / 2;
}

/* Of the logarithm: from the evaluation before to the one at which the target was reached. */
static double step_of(const struct hr_run_result *run)
{
    size_t i = 0;
    while (i < run->ncurve && run->curve[i].seconds < run->target_seconds)
        i++;
    return i > 0 && i < run->ncurve && run->curve[i - 1].seconds > 0
               ? log(run->target_seconds / run->curve[i - 1].seconds)
               : 0;
}

double hr_pairs_p(const struct hr_run_result *a, const struct hr_run_result *b, size_t n)
{
    double mean = 0, squares = 0, step = 0;
    if (n < 2)
        return NAN;
    for (size_t i = 0; i < n; i++) {
        mean += log(a[i].target_seconds / b[i].target_seconds) / (double)n;
        step = fmax(step, fmax(step_of(&a[i]), step_of(&b[i])));
    }
    for (size_t i = 0; i < n; i++)
        squares += pow(log(a[i].target_seconds / b[i].target_seconds) - mean, 2);
    const double sd = fmax(sqrt(squares / ((double)n - 1)), step / 2);
    return sd > 0 ? 1 - hr_pairs_within(fabs(mean) / sd * sqrt((double)n), n - 1) : 1;
}

bool hr_pairs_same(const struct hr_run_result *a, const struct hr_run_result *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!a[i].weights_digest[0] || strcmp(a[i].weights_digest, b[i].weights_digest) != 0)
            return false;
    return n > 0;
}
