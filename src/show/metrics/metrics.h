/* metrics.h - a run's history in files: JSON Lines, TensorBoard (board.h), or both.
 *
 *     hr_metrics_check(&wish)                    before anything: what could only fail later
 *     struct hr_metrics metrics = {.wish = ...};
 *     hr_metrics_begin(&metrics, info)           an observer's `admits`; then what it is told:
 *     hr_metrics_step, _point, _saving, _writing, _saved, _lost
 *     hr_metrics_flush                           about ten times a second (`progress`)
 *     hr_metrics_end(&metrics, ...)              always
 *
 * A file that cannot be written any more ends there, with a warning; the run goes on, and end says
 * so. What is told is in the files after the next flush at the latest, whatever kills the process.
 *
 * Threads: none. Test: tests/unit/metrics, tests/cli/metrics.bats
 */
#ifndef HR_METRICS_METRICS_H
#define HR_METRICS_METRICS_H

#include <jansson.h>

#include "hogring/train.h"
#include "metrics/board.h"

/* A run as JSON Lines (--log): each line an object, {"run", "event", ...}.
 *
 *   start       at the step it begins at: life, hogring, strategy, seed, resumed, config, ...
 *   step        each of each worker, or one in `every`: struct hr_step_report
 *   evaluation  a point of the curve, and the staleness of updates since the one before
 *   saving, saved, lost
 *   worker      its times in all; end: how the run ended
 *
 * The page "log" of the manual tells all fields. Numbers that are none are null.
 */
struct hr_run_log {
    struct hr_appender file;
    char *head;      /* owned: {"run":NAME,"event":" */
    uint64_t every;  /* a line for each step that it divides, or block of rows with one */
    uint64_t newest; /* step */
    size_t workers;
    double (*untold)[4]; /* (workers) owned: load, compute, communicate, wait since its last line */
    struct hr_stale_counts stale;
};

/* What was asked for. All is borrowed. */
struct hr_metrics_wish {
    const char *log, *board; /* a file, shared by the runs of a comparison; a folder; "": none */
    const char *run;         /* the run's name, and its folder below `board` */
    uint64_t every;
    const struct hr_train_options *options;
    const struct hr_dataset *dataset;
};

struct hr_metrics {
    struct hr_metrics_wish wish;
    bool begun;
    uint64_t saving; /* the step that was copied last */
    struct hr_run_log log;
    struct hr_board board;
};

static inline bool hr_metrics_are_wanted(const struct hr_metrics_wish *wish)
{
    return wish->log && (wish->log[0] || wish->board[0]);
}

/* Is there anything that the run would write to, and may not: neither goes on with it (--resume)
 * nor replaces it (--overwrite)? HR_E_USAGE; HR_E_IO: it cannot be written. */
HR_CHECKED enum hr_status hr_metrics_check(const struct hr_metrics_wish *wish);
/* The log is this command's from now on (HR_E_IO: another run writes it); --overwrite: that of
 * other runs goes, if it is one (HR_E_USAGE). Once, before the first run begins. */
HR_CHECKED enum hr_status hr_metrics_forget(const struct hr_metrics_wish *wish);

HR_CHECKED enum hr_status hr_metrics_begin(struct hr_metrics *metrics,
                                           const struct hr_run_info *info);
void hr_metrics_step(struct hr_metrics *metrics, const struct hr_step_report *step);
void hr_metrics_point(struct hr_metrics *metrics, const struct hr_curve_point *point);
void hr_metrics_saving(struct hr_metrics *metrics, uint64_t step);
/* All steps that are saved are told: they are in the files when this returns. */
void hr_metrics_writing(struct hr_metrics *metrics);
void hr_metrics_saved(struct hr_metrics *metrics, const char *path);
void hr_metrics_lost(struct hr_metrics *metrics, const struct hr_loss *loss);
void hr_metrics_flush(struct hr_metrics *metrics);

/* As hr_run_log_end; then the files are closed. HR_OK when all of both is in them, or they were
 * never begun. */
HR_CHECKED enum hr_status hr_metrics_end(struct hr_metrics *metrics,
                                         const struct hr_run_result *result, const char *message,
                                         int exit_code);

#endif
