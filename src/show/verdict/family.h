/* family.h - tests over all pairs of strategies, and what orders of events add.
 *
 * Threads: none. Test: tests/unit/verdict/ */
#ifndef HR_VERDICT_FAMILY_H
#define HR_VERDICT_FAMILY_H

#include <stdbool.h>

#include "base/error.h"
#include "report/groups.h"
#include "stats/tests.h"
#include "stats/times.h"

/* --- pairing --- */

/* Runs of two strategies that had the same seed: the same weights and order of samples
 * to begin with, in virtual time also the same compute times.
 *
 * A strategy may have run a seed in several orders of events; the mean over them counts. */

/* How many seeds a group's runs have. */
size_t hr_run_group_seeds(const struct hr_run_group *group);

/* Did every run of a seed end with the same weights, in both groups, and have both the same seeds?
 * Then they cannot differ, and there is nothing to test. */
bool hr_groups_identical(const struct hr_run_group *a, const struct hr_run_group *b);

/* The test of a - b over the seeds that both have. Of an accuracy the step is that of one test
 * sample. n is below 2 where there are too few. */
struct hr_paired hr_pair_scores(const struct hr_run_group *a, const struct hr_run_group *b,
                                enum hr_metric metric);

/* What a target took: seconds of training, or samples. */
enum hr_cost { HR_COST_SECONDS, HR_COST_SAMPLES };
struct hr_paired_times hr_pair_costs(const struct hr_run_group *a, const struct hr_run_group *b,
                                     enum hr_cost cost);

/* Seconds or samples of a run when it was seen to have reached its target; < 0: it was not. */
double hr_run_target_cost(const struct hr_run_result *run, enum hr_cost cost);

/* --- family --- */

/* One figure of all strategies, each pair tested, corrected for how many there are.
 *
 * Strategies whose weights are bit for bit the same are one in the tests: they are identical, which
 * needs no test, and count once in Holm's correction.
 *
 * Correcting only for pairs with the best would not do: the best was chosen by the same figures,
 * and chance differences would pass more often than the stated level.
 *
 * Margins: that a is not worse than b by a margin is a one-sided test in either direction, of which
 * at most one of a pair's two can be wrong; Holm's factors are therefore those of as many tests as
 * there are pairs (Shaffer's). Both together say that the two are equal within the margin.
 *
 * Source: J. P. Shaffer, "Modified sequentially rejective multiple test procedures", Journal of the
 *     American Statistical Association 81, 1986. D. J. Schuirmann, 1987 (stats/paired.h). */

#define HR_VERDICT_LEVEL 0.05
#define HR_POWER_WANTED 0.8

enum hr_pair_state { HR_PAIR_UNTESTED, HR_PAIR_IDENTICAL, HR_PAIR_TESTED };

struct hr_pair {
    enum hr_pair_state state;
    struct hr_paired test; /* of a - b, or of log a - log b; its p is that of the pair alone */
    double p;              /* adjusted; 1 where not tested */
    double not_worse_p;    /* adjusted: that a is worse than b by the margin; 1 without margin */
    bool exact;            /* of times: some are not known (stats/times.h) */
    size_t unknown;
};

/* How a pair is tested: fill `test` (and exact, unknown); false: it cannot be. */
typedef bool (*hr_pair_fn)(const void *arg, size_t a, size_t b, struct hr_pair *pair);

struct hr_family {
    size_t groups, tests; /* tests: pairs that were tested, identical strategies counted once */
    struct hr_pair *pair; /* (groups, groups) owned: [a * groups + b], and mirrored */
    double spread; /* of differences: root mean square over the tests that have any; 0: none has */
    size_t least_pairs; /* of runs, in one of those tests */
};

struct hr_family_wish {
    size_t groups;
    const size_t *twin; /* (groups) the first group that is identical to it: itself, if none is */
    hr_pair_fn test;    /* asked for a < b, both first of their kind */
    const void *arg;
    double margin; /* 0: none */
    bool higher;   /* is better */
};

HR_CHECKED enum hr_status hr_family_make(struct hr_family *family,
                                         const struct hr_family_wish *wish);
void hr_family_free(struct hr_family *family);

/* a against b; a != b. */
static inline const struct hr_pair *hr_family_pair(const struct hr_family *family, size_t a,
                                                   size_t b)
{
    return &family->pair[a * family->groups + b];
}

/* Is a different from b by more than chance, and a's figure the higher one? */
bool hr_family_higher(const struct hr_family *family, size_t a, size_t b);

/* What the pairs that were tested say of the spread. Differences have the deviation `spread` (root
 * of the mean square); with `pairs` seeds (the least of any pair) those under `difference` are
 * found with 80 % power at the level over all tests; `more` seeds find `aim`. 0 pairs: nothing is
 * known. */
struct hr_family_power {
    size_t pairs, more;
    double spread, difference, aim;
};

/* aim: the margin; 0: half of what is found now. */
struct hr_family_power hr_family_power(const struct hr_family *family, double aim);

/* --- orders --- */

/* A strategy's spread split into seeds and orders of events (--orders).
 *
 * One-way random effects: a score is a mean, what its seed adds, and what its order adds. */

struct hr_orders {
    struct hr_components score; /* groups: the seeds; between them, and within one */
    bool same;                  /* all orders of a seed ended with the same weights */
};

/* Of the group's scores that are finite. False: it has no seed with several runs, or no memory. */
bool hr_run_group_orders(const struct hr_run_group *group, enum hr_metric metric,
                         struct hr_orders *orders);

#endif
