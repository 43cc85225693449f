/* documents.h - runs for programs (train, compare, replay, simulate): what their documents have
 * beside version and machine (value.h). Fields are only ever added.
 *
 * All return new references; NULL: no memory, which hr_json_document takes.
 * Threads: none of this is called by ranks.
 */
#ifndef HR_JSON_DOCUMENTS_H
#define HR_JSON_DOCUMENTS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "hogring/data.h"
#include "hogring/evaluate.h"
#include "hogring/train.h"
#include "json/value.h"
#include "verdict/verdict.h"

/* --- a run */

/* The table of results (results.c): a row a figure of a run. To add one: compute it into a member
 * of struct hr_run_result, and write a row; --json, hogring help json, the page, and with .log the
 * last line of --log have it. */

/* What rows need that the result does not have: `about` of hr_fields_json. */
struct hr_run_about {
    const char *label; /* what it goes by in the table */
    const struct hr_dataset *dataset;
};

extern const struct hr_field hr_result_rows[], hr_loss_rows[], hr_worker_time_rows[];
extern const size_t hr_result_nrows, hr_loss_nrows, hr_worker_time_nrows;

/* What the rows of a table mean (hr_fields_describe): run, loss, time; end: of a log. */
void hr_results_describe(FILE *out, const char *table);

/* --- runs */

/* A run that failed. */
struct hr_failed_run {
    const char *label, *strategy, *message;
    uint64_t seed;
};

/* All runs: those that ended well, and those that failed. */
struct hr_endings {
    const struct hr_run_result *runs; /* (n) */
    size_t n;
    const struct hr_failed_run *failed; /* (nfailed) */
    size_t nfailed;
    const struct hr_verdict_request *request; /* verdict/verdict.h; NULL: nothing but a target */
    json_t *lists;    /* options that were given several values, by name: arrays; NULL: none */
    json_t *given;    /* every option that was given, by name, as typed; NULL: not known */
    json_t *forecast; /* of train --forecast; NULL: none */
    json_t *tuning;   /* hr_json_tuning; NULL: nothing was tuned */
};

/* {"bits", "given", "config", "runs", "failed", "comparison", "forecast"}
 *   options  become "config", spelled as the flags, with the lists
 *   dataset  becomes "config"."data" */
json_t *hr_json_runs(const struct hr_train_options *options, const struct hr_dataset *dataset,
                     const struct hr_endings *endings);

/* The parts of it that logs have too; NULL: no memory. */
json_t *hr_json_config(const struct hr_train_options *options, const struct hr_dataset *dataset,
                       json_t *lists);
json_t *hr_json_point(const struct hr_curve_point *point);

/* {"rmse", "mae", "r2"} */
json_t *hr_json_fit(const struct hr_fit *fit);
/* Put "test_fit", "test_scores" and "test_text" of an evaluation: the one of what it predicts
 * (values, classes, text), the others null. */
void hr_json_put_fits(json_t *object, const struct hr_fit *fit, bool values, bool text);

/* [[stage, "F", micro-batch, chunk, start, end], ...] */
json_t *hr_json_spans(const struct hr_stage_span *span, size_t n);

#endif
