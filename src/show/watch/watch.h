/* watch.h - an observer that shows a run on stderr: banner, progress, checkpoints. */
#ifndef HR_WATCH_WATCH_H
#define HR_WATCH_WATCH_H

#include "options/command_line.h"
#include "hogring/train.h"
#include "metrics/metrics.h"
#include "report/progress.h"
#include "report/report.h"
#include "timeline/timeline.h"

/* --timeline FILE: what ranks did, written while they do it.
 *
 *     struct hr_timeline_watch lines = {.cli = cli};
 *     HR_TRY(hr_timeline_check(cli, options));                    of each run
 *     observer = hr_watch_begin(&watch, ...);
 *     hr_watch_timeline(&watch, &lines, &observer);               each run
 *     status = hr_timeline_end(&lines, status);                   after the last
 */
struct hr_timeline_watch {
    const struct hr_cli *cli;
    struct hr_timeline *timeline; /* NULL: no run has begun */
};

/* HR_E_USAGE: its steps are none, or of no timeline. */
HR_CHECKED enum hr_status hr_timeline_check(const struct hr_cli *cli);
/* The runs have ended. Returns status, or what kept the file from being written. */
HR_CHECKED enum hr_status hr_timeline_end(struct hr_timeline_watch *lines, enum hr_status status);

/* Of several runs: what is said once of all. */
struct hr_watch_share {
    const char *head; /* "6 runs (3 settings, 2 seeds), one at a time, 2 workers" */
    bool one_model;   /* they share it */
    bool said, crowded;
};

struct hr_watch {
    const struct hr_cli *hints;       /* given when the run starts; NULL: none */
    const struct hr_dataset *dataset; /* theirs */
    const struct hr_cli *outputs;     /* whose earlier contents go then; NULL: nobody's */
    bool started;
    struct hr_timeline_watch *lines; /* NULL: nobody asked for a timeline */
    const char *clock;
    struct hr_progress_view view;
    struct hr_watch_share *share; /* of several runs; NULL: it is the only one */
    void (*tell)(void *arg, const struct hr_progress *progress); /* NULL: it is alone */
    void *tell_arg;
    const char *data;
    enum hr_telling telling;
    bool first;                /* of the runs that differ by their seed alone */
    int64_t saved_ns;          /* when a checkpoint was told of; 0: never */
    struct hr_metrics metrics; /* --log, --tensorboard */
};

/* What the options ask for. */
enum hr_telling hr_watch_telling(const struct hr_cli *cli);

/* subject: of one of several runs; NULL: it is the only one. The observer borrows watch. */
struct hr_observer hr_watch_begin(struct hr_watch *watch, const struct hr_train_options *options,
                                  const char *data, const struct hr_progress_subject *subject,
                                  enum hr_telling telling);
/* It is one of several at once: its progress is told, and a terminal has no line of its own. */
void hr_watch_join(struct hr_watch *watch,
                   void (*tell)(void *arg, const struct hr_progress *progress), void *arg);
/* --timeline: where it was asked for, the observer also tells of spans. lines is borrowed. */
void hr_watch_timeline(struct hr_watch *watch, struct hr_timeline_watch *lines,
                       struct hr_observer *observer);
/* What a run goes by in files: ssp/seed-1, ssp-2/seed-1 (of a list's second ssp: twins 1). */
enum { HR_RUN_NAME = 96 };
const char *hr_watch_name(const struct hr_train_options *options, size_t twins,
                          char name[HR_RUN_NAME]);

/* What the options ask to be written of a run of this name. */
struct hr_metrics_wish hr_watch_wish(const struct hr_cli *cli,
                                     const struct hr_train_options *options,
                                     const struct hr_dataset *dataset, const char *run);
/* What earlier runs wrote to outputs goes; for several runs, before the first. */
HR_CHECKED enum hr_status hr_watch_forget(const struct hr_cli *cli,
                                          const struct hr_train_options *options);
/* Write it: the observer tells of more. */
void hr_watch_write(struct hr_watch *watch, const struct hr_metrics_wish *wish,
                    struct hr_observer *observer);
/* The run is over, with this status and its message, and (NULL: none) this result. Returns that
 * status; where it is HR_OK, whether all is written. */
HR_CHECKED enum hr_status hr_watch_close(struct hr_watch *watch, const struct hr_run_result *result,
                                         enum hr_status status);

/* What to change first, once for all runs: one line a kind of advice. */
void hr_watch_advise(const struct hr_run_result *runs, size_t n);

/* result: of a run that ended well, for its line, and of a run on its own for advice; else NULL. */
void hr_watch_end(struct hr_watch *watch, const struct hr_run_result *result);

#endif
