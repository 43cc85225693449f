/* paired.h - two samples whose values come in pairs: the mean of their differences.
 *
 * The same seed gives two strategies the same weights and order of samples; what a lucky seed
 * gives both is gone from the difference. It is tested by Student's t with n - 1 degrees of
 * freedom: exact for normal differences, whatever the samples themselves are like.
 *
 * A figure that is a count of m test samples goes in steps of 1 / m, so a few differences may all
 * be equal by chance, and their deviation of 0 would make any difference certain. Differences are
 * therefore taken to vary by half a step at least (`step`; 0: no steps are known, and without
 * spread there is no scale for a difference: p is 1, its interval all numbers).
 *
 * The effect is the difference in standard deviations of the differences (Cohen's d_z), freed of
 * its bias for small n by Hedges' factor; its interval is that of the noncentral t. For n = 2 it
 * is not known (NaN).
 *
 * Threads: pure functions. Test: tests/unit/stats/test_paired.c against scipy.
 * Source: L. V. Hedges, "Distribution theory for Glass's estimator of effect size and related
 *     estimators", Journal of Educational Statistics 6, 1981.
 *     G. Cumming and S. Finch, "A primer on the understanding, use, and calculation of confidence
 *     intervals...", Educational and Psychological Measurement 61, 2001.
 *     D. J. Schuirmann, "A comparison of the two one-sided tests procedure and the power approach
 *     ...", Journal of Pharmacokinetics and Biopharmaceutics 15, 1987.
 */
#ifndef HR_STATS_PAIRED_H
#define HR_STATS_PAIRED_H

#include <stddef.h>

#include "stats/interval.h"

struct hr_paired {
    size_t n;                     /* pairs */
    double difference, sd;        /* mean of a - b, and deviation with the floor of the step */
    struct hr_interval interval;  /* 95 %, of the difference */
    double p;                     /* two-sided, that the difference is 0; 1 for n < 2 */
    double effect;                /* difference / sd, Hedges' */
    struct hr_interval of_effect; /* 95 % */
};

/* Of n pairs a[i], b[i], all finite. */
struct hr_paired hr_paired_test(const double *a, const double *b, size_t n, double step);

/* One-sided p that the mean difference is at or below -margin: small when a is no worse than b by
 * the margin, more being better. */
double hr_paired_not_below(const struct hr_paired *paired, double margin);
/* The same that it is at or above the margin. */
double hr_paired_not_above(const struct hr_paired *paired, double margin);

#endif
