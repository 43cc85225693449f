/* json_comparison.h - what the table and the verdict say of several strategies, as JSON. */
#ifndef HR_REPORT_JSON_COMPARISON_H
#define HR_REPORT_JSON_COMPARISON_H

#include <jansson.h>

#include "hogring/train.h"

/* "comparison": {"test", "level", "best", "strategies": [{"label", "strategy", "seeds",
 * "interrupted", "test_accuracy", "test_loss", "train_loss", "seconds", "samples_per_s", "updates",
 * "p_against_best", "worse_than_best"}]}, a strategy (runs that differ in their seed alone) a row,
 * in the order of the table.
 *
 * Figures of runs are {"mean", "sd", "min", "max"} over the seeds; sd is that of the sample.
 * "best": the label of the best mean accuracy among those that were tested: several seeds, none
 * interrupted; null: none was. "p_against_best": Welch's, adjusted after Holm (verdict.h); null of
 * the best and of those not tested. null where there are fewer than two strategies. */
json_t *hr_json_comparison(const struct hr_run_result *runs, size_t n);

#endif
