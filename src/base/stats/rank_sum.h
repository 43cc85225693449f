/* rank_sum.h - do two samples come from one distribution, whatever it is? The rank-sum test.
 *
 * U counts the pairs in which the second sample's value is the larger; equal ones are half a pair.
 * Where the samples have one distribution, every order of all values is as likely: p is exact, and
 * with equal values on the safe side, for samples of at most HR_RANK_SUM_EXACT pairs; beyond, U is
 * taken to be normal. So a value far out weighs as one that is just the largest.
 *
 * Threads: pure functions.
 * Source: H. B. Mann and D. R. Whitney, "On a test of whether one of two random variables is
 *     stochastically larger than the other", Annals of Mathematical Statistics 18, 1947.
 * Test: tests/unit/stats/test_rank_sum.c against published tables.
 */
#ifndef HR_STATS_RANK_SUM_H
#define HR_STATS_RANK_SUM_H

#include <stddef.h>

enum { HR_RANK_SUM_EXACT = 2500 };

/* Two-sided p of n values and k others, all finite; 1 where one has none. */
double hr_rank_sum_p(const double *a, size_t n, const double *b, size_t k);
/* The least that it can be: all of the one above all of the other. */
double hr_rank_sum_least(size_t n, size_t k);

#endif
