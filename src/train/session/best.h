/* best.h - which evaluation was the best, and is it time to stop? Functions of the curve alone: so
 * a resumed run, which has the whole curve, decides as one that was never stopped, and a replay as
 * the run that was recorded.
 *
 * Evaluations at the ends of epochs are compared. One inside of an epoch, where a run ended that
 * was told to (--max-steps, a budget), is none that it would have had, had it gone on at once.
 *
 * What is compared was measured on the validation split, or without one on the test set.
 *
 * Threads: pure functions.
 * Test:    tests/unit/session/test_best.c
 */
#ifndef HR_SESSION_BEST_H
#define HR_SESSION_BEST_H

#include "hogring/run_result.h"
#include "options/early_stop.h"

struct hr_best {
    bool any;     /* none was a number: there is no best */
    size_t point; /* of the curve */
    size_t since; /* evaluations behind it that were compared; without a best all */
    double value; /* what the metric was there */
};

/* The last of n evaluations that improved on the best before it. */
struct hr_best hr_best_of(const struct hr_early_stop *rule, const struct hr_curve_point *curve,
                          size_t n);

/* Would this evaluation be the next best? */
bool hr_best_is_beaten(const struct hr_early_stop *rule, const struct hr_best *best,
                       const struct hr_curve_point *point);

/* Are there as many evaluations behind it as the patience bears? */
static inline bool hr_best_is_over(const struct hr_early_stop *rule, const struct hr_best *best)
{
    return rule->asked && best->since >= rule->patience;
}

#endif
