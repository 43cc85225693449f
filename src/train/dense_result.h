/* dense_result.h - what a dense run came to, from its workers' counters after all ranks have ended;
 * and what to change first where it diverged.
 *
 * Threads: none of this is called by ranks.
 */
#ifndef HR_TRAIN_DENSE_RESULT_H
#define HR_TRAIN_DENSE_RESULT_H

#include <stddef.h>
#include <stdint.h>

#include "train/run.h"

/* Of what was counted in buckets 0, 1, 2, ...: the smallest index at which the running sum reaches
 * the fraction q of all; 0 for an empty one. */
size_t hr_histogram_quantile(const uint64_t *counts, size_t n, double q);

/* The effect of asynchrony on this rate; the staleness is in the result. */
struct hr_asynchrony hr_asynchrony_of(const struct hr_run *run, const struct hr_run_result *result,
                                      double lr);

/* Returns `status`, of the run's end. If it diverged, add to the message why, where that is found
 * (weights or data that are not finite, inputs that are large), and what to change first. */
HR_CHECKED enum hr_status hr_divergence_explain(const struct hr_run *run, enum hr_status status);

#endif
