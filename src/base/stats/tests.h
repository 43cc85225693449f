/* tests.h - what a few numbers let one say: tests of means, and of several at once.
 *
 * Threads: pure functions. Test: tests/unit/stats/ */
#ifndef HR_STATS_TESTS_H
#define HR_STATS_TESTS_H

#include <stddef.h>

/* --- means, deviations, and the interval of a share ---
 *
 * Test: tests/unit/stats/ */

/* --- the distributions that tests and intervals come from ---
 *
 * Test: tests/unit/stats/test_student.c */

/* The incomplete beta function, of which Student's t and its relatives are made. */

/* I_x(a, b), the regularized incomplete beta function; a, b > 0, 0 <= x <= 1. */
double hr_beta_incomplete(double a, double b, double x);

/* --- student --- */

/* Student's t, and the noncentral t of a test whose hypothesis is false.
 *
 * df > 0 degrees of freedom need not be whole. Relative errors are below 1e-9, but for tails of
 * the noncentral t below 1e-12, of which only the size is right.
 *
 * Source: R. V. Lenth, "Algorithm AS 243: cumulative distribution function of the non-central t
 *     distribution", Applied Statistics 38, 1989. */

/* P(T <= t). */
double hr_student_cdf(double t, double df);

/* P(|T| >= |t|), which keeps its digits however small it is. */
double hr_student_two_sided(double t, double df);

/* The t with P(T <= t) = p, 0 < p < 1. */
double hr_student_quantile(double p, double df);

/* P(T <= t) when T's numerator has the mean delta in place of 0: (Z + delta) / sqrt(chi2 / df). */
double hr_noncentral_t_cdf(double t, double df, double delta);

/* The delta with hr_noncentral_t_cdf(t, df, delta) = p: what an interval of an effect ends at. */
double hr_noncentral_t_delta(double t, double df, double p);

/* --- spread --- */

/* Mean and deviation of a few values. */

/* Mean and sample standard deviation (n - 1) of n values; sd is 0 for one value. */
struct hr_spread {
    double mean, sd, least, most;
    size_t n;
};

struct hr_spread hr_spread_of(const double *values, size_t n);

/* --- interval --- */

/* Where a figure probably is: from low to high. */

struct hr_interval {
    double low, high;
};

/* Wilson's 95 % interval for a fraction that was `fraction` of n trials; n > 0. */
struct hr_interval hr_wilson_interval(double fraction, double n);

/* Student's, of the mean of n >= 2 normal values, which it covers with the chance `level` (0.95):
 * on each side half of the rest is left out. */
struct hr_interval hr_mean_interval(const struct hr_spread *spread, double level);

/* --- paired --- */

/* Two samples whose values come in pairs: the mean of their differences.
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
 * The effect is the difference in standard deviations of the differences (Cohen's d_z). Its
 * interval is that of the noncentral t. Both are freed of their bias for small n by Hedges'
 * factor. For n = 2 they are not known (NaN).
 *
 * Source: L. V. Hedges, "Distribution theory for Glass's estimator of effect size and related
 *     estimators", Journal of Educational Statistics 6, 1981.
 *     G. Cumming and S. Finch, "A primer on the understanding, use, and calculation of confidence
 *     intervals...", Educational and Psychological Measurement 61, 2001.
 *     D. J. Schuirmann, "A comparison of the two one-sided tests procedure and the power approach
 *     ...", Journal of Pharmacokinetics and Biopharmaceutics 15, 1987. */

struct hr_paired {
    size_t n;                     /* pairs */
    double difference, sd;        /* mean of a - b, and deviation with the floor of the step */
    struct hr_interval interval;  /* 95 %, of the difference */
    double p;                     /* two-sided, that the difference is 0; 1 for n < 2 */
    double effect;                /* difference / sd, times Hedges' factor */
    struct hr_interval of_effect; /* 95 %, times the same factor */
};

/* Of n pairs a[i], b[i], all finite. */
struct hr_paired hr_paired_test(const double *a, const double *b, size_t n, double step);

/* One-sided p that the mean difference is at or below -margin: small when a is no worse than b by
 * the margin, more being better. */
double hr_paired_not_below(const struct hr_paired *paired, double margin);
/* The same that it is at or above the margin. */
double hr_paired_not_above(const struct hr_paired *paired, double margin);

/* --- holm --- */

/* Several tests at once: Holm's correction.
 *
 * Source: S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal
 *     of Statistics 6, 1979. J. P. Shaffer, "Modified sequentially rejective multiple test
 *     procedures", Journal of the American Statistical Association 81, 1986. */

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

/* --- power --- */

/* Which differences a test would find, and how many values it needs for one.
 *
 * All for two-sided t tests of a mean at a level (0.05), by the noncentral t. The
 * spread is taken as known, so with a spread that was itself estimated these are estimates.
 *
 * Source: J. Cohen, Statistical Power Analysis for the Behavioral Sciences, 1988, chapter 2. */

/* The chance that |T| exceeds the critical value at the level, when T's numerator has the mean
 * delta (in units of its own standard deviation). 0 for df < 1. */
double hr_power(double delta, double df, double level);

/* The least mean difference, in standard deviations of the differences, that n pairs tell with the
 * power asked; infinite for n < 2. */
double hr_power_difference(size_t n, double level, double power);

/* How many pairs tell a mean difference of `effect` > 0 standard deviations; at most `most`, which
 * stands for more as well. */
size_t hr_power_pairs(double effect, double level, double power, size_t most);

/* --- rank sum --- */

/* Do two samples come from one distribution, whatever it is? The rank-sum test.
 *
 * U counts the pairs in which the second sample's value is the larger; equal ones are half a pair.
 * Where the samples have one distribution, every order of all values is as likely: p is exact, and
 * with equal values on the safe side, for samples of at most HR_RANK_SUM_EXACT pairs; beyond, U is
 * taken to be normal. So a value far out weighs as one that is just the largest.
 *
 * Source: H. B. Mann and D. R. Whitney, "On a test of whether one of two random variables is
 *     stochastically larger than the other", Annals of Mathematical Statistics 18, 1947. */

enum { HR_RANK_SUM_EXACT = 2500 };

/* Two-sided p of n values and k others, all finite; 1 where one has none. */
double hr_rank_sum_p(const double *a, size_t n, const double *b, size_t k);
/* The least that it can be: all of the one above all of the other. */
double hr_rank_sum_least(size_t n, size_t k);

/* --- components --- */

/* A spread split in two: between groups, and within them.
 *
 * One-way random effects, groups of any sizes: value = mean + group + rest. The estimates are
 * those of the analysis of variance (Henderson's method 1); an estimate below 0 is given as 0.
 *
 * Source: S. R. Searle, G. Casella, C. E. McCulloch, Variance Components, 1992, 3.5 and 3.6. */

struct hr_components {
    double between, within; /* standard deviations; NaN when there is nothing to tell them by */
    double share;           /* of the variance that is between groups, 0..1; NaN for no variance */
    double p;               /* F test that groups do not differ; 1 when it cannot be made */
    size_t groups, n;       /* groups that have values; values */
};

/* values: those of group 0, then those of group 1, ...; count[g] of each. */
struct hr_components hr_components_of(const double *values, const size_t *count, size_t groups);

#endif
