/* verdict.h - what a comparison over several seeds proves.
 *
 * Accuracy: two-sided Welch's t test for each pair of strategies, with Holm's correction over all
 * pairs. Correcting only for pairs with the best would not do: the best was chosen by the same
 * figures, and chance differences would pass more often than the stated level (five equal
 * strategies, five seeds: 7 % instead of 5 %).
 *
 * Where values are predicted the rmse replaces it, and less is better; where neither was measured,
 * the test loss.
 *
 * Threads: none. Test: tests/unit/report/test_verdict.c
 */
#ifndef HR_REPORT_VERDICT_H
#define HR_REPORT_VERDICT_H

#include "report/groups.h"

#define HR_VERDICT_LEVEL 0.05

struct hr_verdict {
    struct hr_groups groups;
    enum hr_metric metric;          /* that is compared: accuracy, else rmse, else loss */
    struct hr_spread *score;        /* (groups) owned; of the test set */
    double *p;                      /* (groups, groups) owned; adjusted; 1 where not tested */
    size_t best;                    /* the tested group of the best mean; groups.n: none is */
    size_t least_seeds, most_seeds; /* of groups that are tested */
};

/* Of n runs, borrowed. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_verdict_make(struct hr_verdict *verdict,
                                          const struct hr_run_result *runs, size_t n);
/* Harmless on a zeroed struct. */
void hr_verdict_free(struct hr_verdict *verdict);

/* Has the group several seeds, and no interrupted run? */
bool hr_verdict_tested(const struct hr_verdict *verdict, size_t group);
/* The adjusted p of two groups. */
double hr_verdict_p(const struct hr_verdict *verdict, size_t a, size_t b);
/* Is the group's mean worse than another's? */
bool hr_verdict_below(const struct hr_verdict *verdict, size_t group, size_t than);
/* Is the group less accurate than another (the best) by more than chance? */
bool hr_verdict_worse_than(const struct hr_verdict *verdict, size_t group, size_t than);
bool hr_verdict_worse(const struct hr_verdict *verdict, size_t group);

#endif
