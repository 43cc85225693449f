/* holm.h - several tests at once: Holm's correction.
 *
 * Threads: pure functions. Test: tests/unit/stats/test_stats.c
 * Source: S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal
 *     of Statistics 6, 1979.
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

#endif
