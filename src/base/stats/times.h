/* times.h - paired times to a target, some of which are only known to be longer than was waited.
 *
 * A run is looked at now and then: the target was reached after `before` and at `at` the latest. A
 * run that did not reach it is known only to need more than its budget; one that had reached it
 * when it was first looked at, only to need no more than that. Neither is a time, and leaving out
 * such runs would favour whoever fails often.
 *
 *   All times are known.  Student's paired test on their logarithms: times are multiplied by what
 *       slows them, and the result is a ratio. They are known to a step, from `before` to `at`;
 *       their differences are taken to vary by half of the longest at least (tests.h).
 *   Some are not.  Of each pair, both times are cut to what both runs could have shown: from the
 *       later of the first looks to the smaller of the budgets. The many equal values that come of
 *       it are no normal sample (of three pairs, all may say the same once in a while, without any
 *       spread), so the test is exact: if the strategies do not differ, each pair's difference has
 *       either sign with equal chance, and p is the share of all 2^n choices of signs that give a
 *       sum as far from 0. It needs 6 pairs that differ to fall below 5 %, and tells less than
 *       Student's; there is no interval. With more than 20 pairs, signs are not tried but
 *       Student's test is made of the cut times, whose mean is nearly normal by then.
 *
 * Of several runs of a pair's side (orders of events) the mean logarithm counts.
 *
 * Threads: pure functions but for memory. Test: tests/unit/stats/test_times.c; how often it claims
 * what is not so: tests/unit/verdict/test_calibration.c
 * Source: R. A. Fisher, The Design of Experiments, 1935, section 21 (signs). Times restricted to a
 *     common budget: L. Zhao et al., "On the restricted mean survival time curve", Biometrics 72,
 *     2016.
 */
#ifndef HR_STATS_TIMES_H
#define HR_STATS_TIMES_H

#include <stdbool.h>
#include <stddef.h>

#include "stats/tests.h"

struct hr_reach {
    size_t pair; /* which it belongs to: 0 .. pairs - 1 */
    bool reached;
    double at, before;    /* where it was seen to be reached, and the look before, 0: none */
    double first, budget; /* first and last look */
};

struct hr_paired_times {
    struct hr_paired test; /* of log a - log b; exact: no interval, no effect */
    bool exact;            /* some times are not known */
    size_t unknown;        /* how many */
};

/* Times of two sides, na and nb of them, in `pairs` pairs of which each side has one or more. */
struct hr_paired_times hr_paired_times_test(const struct hr_reach *a, size_t na,
                                            const struct hr_reach *b, size_t nb, size_t pairs);

/* Two-sided p that n differences have either sign by chance; n <= 20, zeros do not count. */
double hr_signs_p(const double *difference, size_t n);

/* Pairs that must differ, all in one direction, for a p below the level. */
size_t hr_signs_needed(double level);

#endif
