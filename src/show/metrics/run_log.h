/* run_log.h - a run as JSON Lines (--log): each line an object, {"run", "event", ...}.
 *
 *   start       at the step it begins at: life, hogring, strategy, seed, resumed, config, ...
 *   step        each of each worker, or one in `every`: struct hr_step_report
 *   evaluation  a point of the curve, and the staleness of updates since the one before
 *   saving, saved, lost
 *   worker      its times in all; end: how the run ended
 *
 * The page "log" of the manual tells all fields. Numbers that are none are null.
 *
 * Threads: none.
 * Test:    tests/cli/metrics.bats
 */
#ifndef HR_METRICS_RUN_LOG_H
#define HR_METRICS_RUN_LOG_H

#include <jansson.h>

#include "hogring/train.h"
#include "metrics/appender.h"
#include "metrics/stale_counts.h"

struct hr_run_log {
    struct hr_appender file;
    char *head;      /* owned: {"run":NAME,"event":" */
    uint64_t every;  /* a line for each step that it divides, or block of rows with one */
    uint64_t newest; /* step */
    uint64_t saving; /* the step that is being saved */
    size_t workers;
    double (*untold)[4]; /* (workers) owned: load, compute, communicate, wait since its last line */
    struct hr_stale_counts stale;
};

/* What a log begins with. */
struct hr_log_start {
    const char *path, *run; /* the run's name */
    uint64_t every;
    const struct hr_run_info *info;
    bool goes_on;   /* with what the file says of this run, as far as its checkpoint does */
    json_t *config; /* borrowed */
    const char *clock;
};

/* Go on with what is there where the run is resumed (go_back.h), and write the first line. HR_E_IO,
 * HR_E_USAGE, HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_run_log_open(struct hr_run_log *log, const struct hr_log_start *start);

void hr_run_log_step(struct hr_run_log *log, const struct hr_step_report *step);
void hr_run_log_point(struct hr_run_log *log, const struct hr_curve_point *point);
void hr_run_log_saving(struct hr_run_log *log, uint64_t step);
void hr_run_log_saved(struct hr_run_log *log, const char *path);
void hr_run_log_lost(struct hr_run_log *log, const struct hr_loss *loss);

/* The last lines. result: of a run that ended well, or was interrupted; else NULL, and message says
 * why. exit_code: of the command. */
void hr_run_log_end(struct hr_run_log *log, const struct hr_run_result *result, const char *message,
                    int exit_code);

/* The end of a run that was killed when all was saved, where the log lacks it. HR_E_IO. */
HR_CHECKED enum hr_status hr_run_log_finish(const char *path, const char *run,
                                            const struct hr_run_result *result, const char *message,
                                            int exit_code);

/* HR_OK when all lines are in the file. Harmless on a zeroed struct. */
HR_CHECKED enum hr_status hr_run_log_close(struct hr_run_log *log);

#endif
