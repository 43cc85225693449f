#include "stats/times.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { SIGNS_MOST = 20 };

/* Signs are turned one at a time, in the order of Gray's code: choice i differs from the one before
 * in the sign of the lowest bit of i. By symmetry the last sign may stay. */
double hr_signs_p(const double *difference, size_t n)
{
    double signs[SIGNS_MOST], sum = 0, scale = 0;
    size_t m = 0;
    for (size_t i = 0; i < n && m < SIGNS_MOST; i++)
        if (difference[i] != 0) {
            signs[m++] = difference[i];
            sum += difference[i];
            scale += fabs(difference[i]);
        }
    if (m == 0)
        return 1;
    const double seen = fabs(sum) - 1e-9 * scale; /* rounding makes no difference */
    const uint64_t choices = UINT64_C(1) << (m - 1);
    uint64_t as_far = fabs(sum) >= seen;
    for (uint64_t i = 1; i < choices; i++) {
        size_t turned = 0;
        while (!(i >> turned & 1))
            turned++;
        signs[turned] = -signs[turned];
        sum += 2 * signs[turned];
        as_far += fabs(sum) >= seen;
    }
    return (double)as_far / (double)choices;
}

size_t hr_signs_needed(double level)
{
    size_t n = 1;
    while (ldexp(2, -(int)n) >= level)
        n++;
    return n;
}

/* From where to where both sides of each pair can be told. */
struct window {
    double low, high;
};

static bool is_known(const struct hr_reach *r)
{
    return r->reached && r->before > 0;
}

static void narrow(struct window *windows, const struct hr_reach *r, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct window *w = &windows[r[i].pair];
        w->low = fmax(w->low, r[i].first);
        w->high = fmin(w->high, r[i].budget);
    }
}

static double cut(const struct hr_reach *r, const struct window *w)
{
    const double at = r->reached ? r->at : (double)INFINITY;
    return log(fmax(fmin(at, w->high), fmin(w->low, w->high)));
}

/* Mean logarithms of each pair's runs; windows: NULL, the times as they are. */
static void mean_logs(const struct hr_reach *r, size_t n, const struct window *windows,
                      double *mean, size_t pairs)
{
    for (size_t p = 0; p < pairs; p++) {
        double sum = 0, count = 0;
        for (size_t i = 0; i < n; i++)
            if (r[i].pair == p) {
                sum += windows ? cut(&r[i], &windows[p]) : log(r[i].at);
                count++;
            }
        mean[p] = sum / count;
    }
}

static double longest_step(const struct hr_reach *r, size_t n, double longest)
{
    for (size_t i = 0; i < n; i++)
        if (is_known(&r[i]))
            longest = fmax(longest, log(r[i].at / r[i].before));
    return longest;
}

/* Cut times: the p is that of signs, and nothing is known but the p and the mean. */
static struct hr_paired by_signs(const double *x, const double *y, double *difference, size_t pairs)
{
    struct hr_paired test = hr_paired_test(x, y, pairs, 0);
    for (size_t p = 0; p < pairs; p++)
        difference[p] = x[p] - y[p];
    if (pairs <= SIGNS_MOST)
        test.p = pairs < 2 ? 1 : hr_signs_p(difference, pairs);
    test.sd = test.effect = test.of_effect.low = test.of_effect.high = NAN;
    test.interval = (struct hr_interval){-INFINITY, INFINITY};
    return test;
}

struct hr_paired_times hr_paired_times_test(const struct hr_reach *a, size_t na,
                                            const struct hr_reach *b, size_t nb, size_t pairs)
{
    struct hr_paired_times times = {.test = {.n = pairs, .difference = NAN, .p = 1}};
    struct window *windows = calloc(pairs + 1, sizeof *windows);
    double *x = calloc(3 * pairs + 1, sizeof *x), *y = x + pairs;
    for (size_t i = 0; i < na; i++)
        times.unknown += !is_known(&a[i]);
    for (size_t i = 0; i < nb; i++)
        times.unknown += !is_known(&b[i]);
    times.exact = times.unknown > 0;
    if (windows && x && pairs > 0) {
        for (size_t p = 0; p < pairs; p++)
            windows[p].high = INFINITY;
        narrow(windows, a, na);
        narrow(windows, b, nb);
        mean_logs(a, na, times.exact ? windows : NULL, x, pairs);
        mean_logs(b, nb, times.exact ? windows : NULL, y, pairs);
        const double step = longest_step(b, nb, longest_step(a, na, 0));
        times.test =
            times.exact ? by_signs(x, y, y + pairs, pairs) : hr_paired_test(x, y, pairs, step);
    }
    free(windows);
    free(x);
    return times;
}
