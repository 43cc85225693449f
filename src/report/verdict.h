/* verdict.h - what a comparison over several seeds lets one say, and no more.
 *
 * Accuracy: Welch's t test, two-sided, for each pair of strategies, with Holm's correction over all
 * pairs: those with the best are spoken of first, but all that can be told apart are. Which one is
 * best was found by looking, so correcting for its pairs alone would call differences that are
 * chance more often than the stated level (five equal strategies, five seeds: 7 % instead of 5 %).
 *
 * Models that predict numbers have no accuracy: the test loss stands in for it, and less is better.
 *
 * Threads: none. Test: tests/unit/report/test_verdict.c
 */
#ifndef HR_REPORT_VERDICT_H
#define HR_REPORT_VERDICT_H

#include "report/groups.h"

#define HR_VERDICT_LEVEL 0.05

struct hr_verdict {
    struct hr_groups groups;
    bool by_loss;                   /* no run has an accuracy: compared is the test loss */
    struct hr_spread *score;        /* (groups) owned; accuracy, or test loss */
    double *p;                      /* (groups, groups) owned; adjusted; 1 where not tested */
    size_t best;                    /* the tested group of the best mean; groups.n: none is */
    size_t least_seeds, most_seeds; /* of groups that are tested */
};

/* Of n runs, borrowed. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_verdict_make(struct hr_verdict *verdict,
                                          const struct hr_run_result *runs, size_t n);
/* Harmless on a zeroed struct. */
void hr_verdict_free(struct hr_verdict *verdict);

/* Several seeds, and none interrupted: that run says nothing about where its strategy ends. */
bool hr_verdict_tested(const struct hr_verdict *verdict, size_t group);
/* The adjusted p of two groups. */
double hr_verdict_p(const struct hr_verdict *verdict, size_t a, size_t b);
/* Is the group's mean worse than another's? */
bool hr_verdict_below(const struct hr_verdict *verdict, size_t group, size_t than);
/* Is the group less accurate than another (the best) by more than chance? */
bool hr_verdict_worse_than(const struct hr_verdict *verdict, size_t group, size_t than);
bool hr_verdict_worse(const struct hr_verdict *verdict, size_t group);

#endif
