/* holm.h - several tests at once: Holm's correction.
 *
 * Threads: pure functions. Test: tests/unit/stats/test_stats.c
 * Source: S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal
 *     of Statistics 6, 1979. J. P. Shaffer, "Modified sequentially rejective multiple test
 *     procedures", Journal of the American Statistical Association 81, 1986.
 */
#ifndef HR_STATS_HOLM_H
#define HR_STATS_HOLM_H

#include <stddef.h>

/* One test of two samples, by their numbers. */
struct hr_comparison {
    size_t a, b;
    double p;
};

/* Holm's step-down correction: sorts the n comparisons by p and adjusts each p. When those below
 * alpha are called different, the chance of any false call stays below alpha. */
void hr_holm_adjust(struct hr_comparison *comparisons, size_t n);

/* The same where at most `wrong` of the n hypotheses can be true at once. */
void hr_holm_adjust_of(struct hr_comparison *comparisons, size_t n, size_t wrong);

#endif
