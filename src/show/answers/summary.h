/* summary.h - predictions for people: the first rows, and how many of which class; and the same
 * figures for JSON.
 *
 * Threads: none. Test: tests/cli/predict.bats
 */
#ifndef HR_ANSWERS_SUMMARY_H
#define HR_ANSWERS_SUMMARY_H

#include <jansson.h>
#include <stdio.h>

#include "base/error.h"
#include "hogring/predict.h"

/* Within `width` columns; `rest`: where all rows are, as "--out FILE.csv writes all", or NULL. */
HR_CHECKED enum hr_status hr_prediction_print(FILE *out, const struct hr_prediction *p,
                                              const char *data, size_t width, const char *rest);

/* {"checkpoint", "model", "data", "kind", "samples", "classes": [{"name", "samples",
 * "mean_confidence"}], "mean_confidence", "unanswered"}; kind "values" has "values": [{"name",
 * "mean", "min", "max"}] in place of the last three. NULL: no memory. */
json_t *hr_prediction_json(const struct hr_prediction *p, const char *data);

#endif
