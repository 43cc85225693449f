/* pairs.h - times to a target of two policies, paired by seed: the same weights, order of samples
 * and times of gradients.
 *
 * Times are compared as logarithms: what slows a run multiplies them. They are known to a step,
 * from one evaluation to the next, so their differences are taken to vary by half of the longest
 * step at least: of few seeds all may say the same by chance.
 *
 * Threads: pure functions. Test: tests/unit/policy/test_pairs.c
 * Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
 */
#ifndef HR_POLICY_PAIRS_H
#define HR_POLICY_PAIRS_H

#include "hogring/run_result.h"

/* P(|T| <= t) of Student's t, t >= 0, with df = 1, 2, ... degrees of freedom. */
double hr_pairs_within(double t, size_t df);
/* The t with P(|T| <= t) = 0.95. */
double hr_pairs_limit(size_t df);

/* Two-sided p that runs a[i] and b[i], n pairs that all reached the target, take equally long; NaN
 * where n < 2. */
double hr_pairs_p(const struct hr_run_result *a, const struct hr_run_result *b, size_t n);

/* Did all pairs end with the same weights? */
bool hr_pairs_same(const struct hr_run_result *a, const struct hr_run_result *b, size_t n);

#endif
