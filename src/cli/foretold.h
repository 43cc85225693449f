/* foretold.h - train --forecast: what was said of a run before it began, and how wrong that was.
 *
 * Threads: none of this is called by ranks. Test: tests/cli/forecast.bats
 */
#ifndef HR_CLI_FORETOLD_H
#define HR_CLI_FORETOLD_H

#include "forecast/forecast.h"
#include "options/command_line.h"

struct hr_foretold {
    bool made;
    struct hr_forecast forecast;
    struct hr_forecast_row row; /* the one of `forecast` */
    size_t before;              /* bytes resident when the run began; 0: not known */
    size_t peak;                /* and the most since then, on top of these; 0: not known */
};

/* Refuse what no forecast stands for; nothing without --forecast. */
HR_CHECKED enum hr_status hr_foretell_check(const struct hr_cli *cli);
/* Make it, say it on stderr unless quiet, and begin to watch memory. Nothing without --forecast. */
HR_CHECKED enum hr_status hr_foretell(const struct hr_cli *cli, const struct hr_dataset *dataset,
                                      struct hr_foretold *out);
/* The run is over: how much memory it had. */
void hr_foretold_end(struct hr_foretold *foretold, const struct hr_train_options *options);
/* A line of how wrong it was. Nothing if none was made. */
void hr_foretold_print(FILE *out, const struct hr_foretold *foretold,
                       const struct hr_run_result *result);
/* "forecast" of the document: a new reference; null if none was made. */
json_t *hr_foretold_json(const struct hr_foretold *foretold, const struct hr_run_result *result);

#endif
