/* report.h - what people see of a run.
 *
 *   banner.c     before it: who trains what, how, and what the strategy guarantees
 *   advice.c     what a user may want to change, with numbers
 *   table.c      after it: one row a strategy; with several seeds mean and deviation
 *
 * Results go to the stream the caller names (stdout), progress and diagnostics to stderr.
 * Threads: none of this is called by ranks.
 */
#ifndef HR_REPORT_REPORT_H
#define HR_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "hogring/train.h"

/* --- banner */

/* Four lines at most, each cut to 80 columns: `head`, or strategy, workers and processors; model;
 * data; length, size of an update and rate, which runs that `head` speaks of need not
 * share. head: "25 runs (5 settings, 5 seeds), one at a time, 2 workers"; NULL: of one run. */
void hr_banner_print_brief(FILE *out, const struct hr_run_info *info, const char *data,
                           const char *head);
/* Strategy, algorithm and order of addition, workers, servers, launch; model; data; what one update
 * is made of and its learning rate; optimizer and what its rate does; epochs, updates, seed; the
 * guarantee. */
void hr_banner_print(FILE *out, const struct hr_run_info *info, const char *data);

/* --- advice: one line each, without a newline; false when there is nothing to say. `name` is what
 * the run goes by. */

enum { HR_ADVICE_MAX = 400 };

/* Before a run: there are more than twice as many ranks as processors. */
bool hr_advice_before(const struct hr_run_info *info, char text[HR_ADVICE_MAX]);
/* After a run: communicating and waiting took longer than computing. */
bool hr_advice_after(const struct hr_run_result *run, const char *name, char text[HR_ADVICE_MAX]);
/* After a run: the training loss ended above where it began. */
bool hr_advice_rising(const struct hr_run_result *run, const char *name, char text[HR_ADVICE_MAX]);
/* After a run: its accuracy is no better than chance. */
bool hr_advice_chance(const struct hr_run_result *run, const char *name, char text[HR_ADVICE_MAX]);
/* After a run: asynchrony makes the step, or momentum, act much larger than it was set. */
bool hr_advice_asynchrony(const struct hr_run_result *run, const char *name,
                          char text[HR_ADVICE_MAX]);

/* --- table */

/* A table of n runs, and below it what its marks mean, with what to change first. Runs that differ
 * only in their seed are one row: mean and sample standard deviation. */
struct hr_table_style {
    double target; /* > 0: the mean seconds to that test accuracy (0..1) are a column */
    size_t width;  /* of the terminal: what there is no room for is named; 0: any */
    bool details;  /* all columns, who was lost, who was waited for, what asynchrony did */
};
void hr_table_print(FILE *out, const struct hr_run_result *runs, size_t n,
                    const struct hr_table_style *style);

#endif
