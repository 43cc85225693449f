/* comparison.h - the table and the verdict on several strategies, as JSON. */
#ifndef HR_JSON_COMPARISON_H
#define HR_JSON_COMPARISON_H

#include <jansson.h>

#include "verdict/verdict.h"

/* "comparison": {"test", "level", "metric", "best", "margin", "lost_alike", "compared_at",
 * "strategies", "pairs", "comparisons", "power", "sentences", "like_for_like", "at", "fair",
 * "tuned"}; null for fewer than two strategies,
 * but with --orders.
 * src/show/manual/json.txt says what each is.
 *
 *   strategies   an entry a strategy (runs that differ only in their seed), in the table's order.
 *                Figures are {"mean", "sd", "min", "max"} over the runs; sd is that of the sample
 *   best         the label with the best mean score among the tested strategies (several seeds,
 *                none interrupted); null: none was tested, or they are not like for like
 *   comparisons  each pair of tested strategies, of the metric and, with a target, of what it took
 *   pairs        the same of the metric alone, as earlier versions had it
 *   sentences    what hr_verdict_print_above and hr_verdict_print say, line by line
 *   like_for_like  "yes", "as listed" (by the user), "no": then nothing is claimed of scores and
 *                targets unless "tuned"; "fair" is the command that compares fairly
 *   at           what claims hold at: "lr 0.05, momentum 0.9" */
json_t *hr_json_comparison(const struct hr_run_result *runs, size_t n, struct hr_verdict_wish wish);

#endif
