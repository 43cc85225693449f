/* pairing.h - runs of two strategies that had the same seed: the same weights and order of samples
 * to begin with, in virtual time also the same compute times.
 *
 * A strategy may have run a seed in several orders of events; the mean over them counts.
 *
 * Threads: none. Test: tests/unit/verdict/test_family.c
 */
#ifndef HR_VERDICT_PAIRING_H
#define HR_VERDICT_PAIRING_H

#include "report/groups.h"
#include "stats/times.h"

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

#endif
