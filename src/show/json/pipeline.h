/* pipeline.h - the pipeline of a run as JSON: null where it has none.
 *
 *   {"schedule", "micro_batches", "chunks", "bubble", "bubble_formula", "bytes", "stages":
 *    [{"layers", "params", "madds_share", "busy_seconds", "wait_seconds", "bytes",
 *      "peak_micro_batches"}, ...]}
 *
 * and its split layers: null where there are none.
 *
 *   {"shards", "ranks", "bytes", "layers": [{"layer", "text", "cut"}, ...]}
 *
 * Threads: pure functions.
 */
#ifndef HR_JSON_PIPELINE_H
#define HR_JSON_PIPELINE_H

#include <jansson.h>

#include "hogring/run_result.h"

/* A new reference; NULL: no memory. */
json_t *hr_json_pipeline(const struct hr_pipeline_report *report);
json_t *hr_json_tensor(const struct hr_tensor_report *report);

#endif
