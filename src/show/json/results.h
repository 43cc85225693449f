/* results.h - the table of results (results.c): a row a figure of a run. To add one: compute it
 * into a member of struct hr_run_result, and write a row; --json, hogring help json, the page, and
 * with .log the last line of --log have it.
 *
 * Threads: constants. Test: tests/unit/json/test_runs.c
 */
#ifndef HR_JSON_RESULTS_H
#define HR_JSON_RESULTS_H

#include "hogring/data.h"
#include "hogring/train.h"
#include "json/fields.h"

/* What rows need that the result does not have: `about` of hr_fields_json. */
struct hr_run_about {
    const char *label; /* what it goes by in the table */
    const struct hr_dataset *dataset;
};

extern const struct hr_field hr_result_rows[], hr_loss_rows[], hr_worker_time_rows[];
extern const size_t hr_result_nrows, hr_loss_nrows, hr_worker_time_nrows;

/* What the rows of a table mean (hr_fields_tell): run, loss, time; end: of a log. */
void hr_results_tell(FILE *out, const char *table);

#endif
