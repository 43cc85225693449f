/* comparison.h - the table and the verdict on several strategies, as JSON. */
#ifndef HR_JSON_COMPARISON_H
#define HR_JSON_COMPARISON_H

#include <jansson.h>

#include "hogring/train.h"

/* "comparison": {"test", "level", "best", "strategies": [{"label", "strategy", "seeds",
 * "interrupted", "test_accuracy", "test_loss", "train_loss", "seconds", "samples_per_s", "updates",
 * "p_against_best", "worse_than_best"}]}; an entry a strategy (runs that differ only in their
 * seed), in the order of the table.
 *
 * Figures of runs are {"mean", "sd", "min", "max"} over the seeds; sd is that of the sample.
 * "sentences": what hr_verdict_print says, line by line; target is its.
 *
 * "best": the label with the best mean accuracy among the tested strategies (several seeds, none
 * interrupted); null: none was tested. "p_against_best": Welch's p adjusted by Holm (verdict.h);
 * null for the best and for those not tested. "comparison" is null for fewer than two strategies.
 */
json_t *hr_json_comparison(const struct hr_run_result *runs, size_t n, double target);

#endif
