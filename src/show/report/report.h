/* report.h - what people see of a run.
 *
 *   banner.c     before it: who trains what, how, and what the strategy guarantees
 *   table.c      after it: one row a strategy; with several seeds mean and deviation
 *   details.c    below the table; and what a user may want to change, with numbers
 *
 * Results go to the stream the caller names (stdout), progress and diagnostics to stderr.
 * Threads: none of this is called by ranks.
 */
#ifndef HR_REPORT_REPORT_H
#define HR_REPORT_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "hogring/evaluate.h"
#include "hogring/train.h"
#include "report/groups.h"

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
    struct hr_target target; /* if any, the mean seconds until it was reached are a column */
    size_t width;            /* of the terminal: what there is no room for is named; 0: any */
    bool details; /* all columns, who was lost, who was waited for, what asynchrony did */
};
void hr_table_print(FILE *out, const struct hr_run_result *runs, size_t n,
                    const struct hr_table_style *style);

/* --- below the table: who was lost, who was waited for, which evaluation was the best --- */

/* Told of a table, and of the brief table of a single row; of more only their number. */
enum { HR_LOST_RANKS_TOLD = 10, HR_LOST_RANKS_BRIEF = 2 };

/* The mark's meaning, and a sentence a loss; nothing where nothing was lost. */
void hr_lost_ranks_print(FILE *out, const struct hr_groups *groups, bool details);

enum { HR_WAITED_FOR_MAX = 240 };

/* "rank 2 caused 61 % of all waiting (31 % of the workers' time), computing"; of backup
 * workers: "rank 2 came too late for 40 of 41 dropped gradients". All seeds together. False: nobody
 * stands out, or there was little to wait for. */
bool hr_waited_for_say(const struct hr_run_group *group, char text[HR_WAITED_FOR_MAX]);

/* Such a sentence a row of the table; then a table of the waiting that each rank caused, of those
 * that caused a hundredth of it, by what it did longer than those who waited, in seconds. */
void hr_waited_for_print(FILE *out, const struct hr_groups *groups);

/* What a step is made of where a machine's workers push as one, a line a row, means over its seeds:
 *
 *     ps-sync: of 4.21 s of a mean worker: load 0.10, compute 2.90, aggregate 0.31 (2 workers a
 *     machine), push 0.22, update 0.51, distribute 0.08, rest 0.09
 */
void hr_node_step_print(FILE *out, const struct hr_groups *groups);

/* Which evaluation was the best, where a run ended early, and whose weights it has (--early-stop,
 * --keep best=METRIC): a line a run; nothing where nobody asked. */
void hr_best_print(FILE *out, const struct hr_groups *groups);

/* Which weights a comparison compares: those that each run ended with, or those of its best
 * evaluation (--early-stop). */
enum hr_compared { HR_COMPARED_LAST, HR_COMPARED_BEST, HR_COMPARED_MIXED };
enum hr_compared hr_best_compared(const struct hr_groups *groups);
/* A sentence that says so; nothing where all are the last. */
void hr_best_epochs_print(FILE *out, const struct hr_groups *groups);

/* --- which classes a model takes for which, on a test split (confusion.c) --- */

/* The matrix, true classes down and answers across, where it fits into `width` columns; else the
 * classes with the least recall, and what each was mostly taken for. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_confusion_print(FILE *out, const struct hr_evaluation *evaluation,
                                             size_t width);

/* [{"name", "samples", "answers", "recall", "precision", "f1", "taken_for": {"name": samples}}],
 * one per class. */
json_t *hr_json_classes(const struct hr_evaluation *evaluation);

#endif
