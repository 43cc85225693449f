/* components.h - a spread split in two: between groups, and within them.
 *
 * One-way random effects, groups of any sizes: value = mean + group + rest. The estimates are
 * those of the analysis of variance (Henderson's method 1); an estimate below 0 is given as 0.
 *
 * Threads: pure functions. Test: tests/unit/stats/test_student.c against worked examples.
 * Source: S. R. Searle, G. Casella, C. E. McCulloch, Variance Components, 1992, 3.5 and 3.6.
 */
#ifndef HR_STATS_COMPONENTS_H
#define HR_STATS_COMPONENTS_H

#include <stddef.h>

struct hr_components {
    double between, within; /* standard deviations; NaN when there is nothing to tell them by */
    double share;           /* of the variance that is between groups, 0..1; NaN for no variance */
    double p;               /* F test that groups do not differ; 1 when it cannot be made */
    size_t groups, n;       /* groups that have values; values */
};

/* values: those of group 0, then those of group 1, ...; count[g] of each. */
struct hr_components hr_components_of(const double *values, const size_t *count, size_t groups);

#endif
