/* watch.h - a run as its user sees it: taken up where it was left (before.c), shown on stderr and
 * in files while it goes on (watch.c), written down when it is over (outcome.c).
 *
 * Threads: none. Test: tests/unit/watch/, tests/cli/ */
#ifndef HR_WATCH_WATCH_H
#define HR_WATCH_WATCH_H

#include "hogring/train.h"
#include "json/documents.h"
#include "metrics/metrics.h"
#include "options/command_line.h"
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
    void (*report)(void *arg, const struct hr_progress *progress); /* NULL: it is alone */
    void *report_arg;
    const char *data;
    enum hr_verbosity verbosity;
    bool first;                /* of the runs that differ by their seed alone */
    int64_t saved_ns;          /* when a checkpoint was told of; 0: never */
    struct hr_metrics metrics; /* --log, --tensorboard */
};

/* What the options ask for. */
enum hr_verbosity hr_watch_verbosity(const struct hr_cli *cli);

/* subject: of one of several runs; NULL: it is the only one. The observer borrows watch. */
struct hr_observer hr_watch_begin(struct hr_watch *watch, const struct hr_train_options *options,
                                  const char *data, const struct hr_progress_subject *subject,
                                  enum hr_verbosity verbosity);
/* It is one of several at once: its progress is told, and a terminal has no line of its own. */
void hr_watch_join(struct hr_watch *watch,
                   void (*report)(void *arg, const struct hr_progress *progress), void *arg);
/* --timeline: where it was asked for, the observer also tells of spans. lines is borrowed. */
void hr_watch_timeline(struct hr_watch *watch, struct hr_timeline_watch *lines,
                       struct hr_observer *observer);
/* What a run goes by in files: ssp/seed-1, ssp-2/seed-1 (of a list's second ssp: twins 1). */
enum { HR_RUN_NAME = 96 };
const char *hr_watch_name(const struct hr_train_options *options, size_t twins,
                          char name[HR_RUN_NAME]);

/* What the options ask to be written of a run of this name. */
struct hr_metrics_request hr_watch_request(const struct hr_cli *cli,
                                           const struct hr_train_options *options,
                                           const struct hr_dataset *dataset, const char *run);
/* What earlier runs wrote to outputs goes; for several runs, before the first. */
HR_CHECKED enum hr_status hr_watch_forget(const struct hr_cli *cli,
                                          const struct hr_train_options *options);
/* Write it: the observer tells of more. */
void hr_watch_write(struct hr_watch *watch, const struct hr_metrics_request *request,
                    struct hr_observer *observer);
/* The run is over, with this status and its message, and (NULL: none) this result. Returns that
 * status; where it is HR_OK, whether all is written. */
HR_CHECKED enum hr_status hr_watch_close(struct hr_watch *watch, const struct hr_run_result *result,
                                         enum hr_status status);

/* What to change first, once for all runs: one line a kind of advice. */
void hr_watch_advise(const struct hr_run_result *runs, size_t n);

/* result: of a run that ended well, for its line, and of a run on its own for advice; else NULL. */
void hr_watch_end(struct hr_watch *watch, const struct hr_run_result *result);

/* --- outputs, checked before a command begins; and what is done with finished runs --- */

/* Of every command, before it begins: refuse what could only fail after hours, an accuracy
 * above 1, an unknown picture format or an output that cannot be written. (--record, --calibrate
 * and --checkpoint-dir are taken by training when it starts.) */
HR_CHECKED enum hr_status hr_outcome_check(const struct hr_cli *cli);
/* HR_E_USAGE: two outputs are one file, by whatever names; or an output is what the command has
 * read, or will, and would be gone (base/inputs.h). What is no regular file, as /dev/null, is not
 * looked at. Once when all options are known, and again when the data are: a checkpoint, a trace or
 * a configuration may have named them. */
HR_CHECKED enum hr_status hr_outcome_check_files(const struct hr_cli *cli);
/* HR_E_USAGE: a metric that --expect names is not measured of what is predicted. sparse: by what
 * model. */
HR_CHECKED enum hr_status hr_outcome_check_expected(const struct hr_cli *cli, enum hr_predicted of,
                                                    size_t classes, bool sparse);
/* The same when the data are there; and values ask for --task regress. */
HR_CHECKED enum hr_status hr_outcome_check_task(const struct hr_cli *cli,
                                                const struct hr_dataset *dataset);

/* Does a path have the ending of a page of HTML? */
bool hr_outcome_is_page(const char *path);

/* Is there anything that would show what each test sample was answered with? */
bool hr_outcome_wants_answers(const struct hr_cli *cli);

/* When training begins: what an earlier run wrote to --json, --plot and --report goes; whatever is
 * there in the end is of this one. */
HR_CHECKED enum hr_status hr_outcome_forget(const struct hr_cli *cli);

/* What a command has found out, for programs, as a page and as a picture: makes the document of
 * `rest` (json/value.h), which is released, with a title (NULL: none), and writes it to --json, its
 * page to --report and its picture to --plot; "": not asked for. Files are replaced as a whole.
 * HR_E_IO, HR_E_NOMEM; HR_E_USAGE: there is nothing to draw. */
HR_CHECKED enum hr_status hr_publish(const struct hr_cli *cli, const char *title, json_t *rest);

/* The same of runs; where no run ended well, there is no picture. */
HR_CHECKED enum hr_status hr_outcome_write(const struct hr_cli *cli,
                                           const struct hr_dataset *dataset,
                                           const struct hr_endings *endings);

/* All that waited for room on the screen (hr_output_hold); which files were written: "report
 * run.html", a line each; and where the rest is. */
void hr_outcome_say(const struct hr_cli *cli, FILE *out);

/* HR_E_DIVERGED when a run did (report/groups.h): then no command ends well, whatever else it has
 * found. HR_E_EXPECTATION when one missed what --expect says. `who` begins what it reached. */
HR_CHECKED enum hr_status hr_outcome_expect_of(const struct hr_cli *cli,
                                               const struct hr_run_result *run, const char *who);
/* The same of several, who say their labels and seeds. */
HR_CHECKED enum hr_status hr_outcome_expect(const struct hr_cli *cli,
                                            const struct hr_run_result *runs, size_t n);

/* A run failed. If it had begun, --json says so: no run ended well, and why this one failed.
 * Returns `status` with its message. */
HR_CHECKED enum hr_status hr_outcome_failed(const struct hr_cli *cli,
                                            const struct hr_dataset *dataset, bool begun,
                                            enum hr_status status);

/* Where the table goes: stdout, or stderr when stdout carries JSON. */
FILE *hr_outcome_stream(const struct hr_cli *cli);

/* --- lines on stderr about data that train worse than they could, or as something else --- */

/* Once, before training; without memory to look, nothing. */
void hr_hints_print(const struct hr_cli *cli, const struct hr_dataset *dataset);
/* Those about the files alone. */
void hr_hints_print_notes(const struct hr_dataset *dataset);
/* Classes that are none, or that nobody learns; nothing of a regression. HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_hints_print_classes(const struct hr_cli *cli,
                                                 const struct hr_dataset *dataset);
/* Which features floats cannot hold as they are, unless --normalize is given. */
void hr_hints_print_rounding(const struct hr_dataset *dataset);

/* --- a run that goes on is the run that began: what is not given comes from its checkpoint --- */

/* Where --resume names a checkpoint: put its options and data in place of those that were not
 * given, note of each that was given otherwise what it was, and name the checkpoint itself in
 * cli->train.resume. --resume auto: the newest of --checkpoint-dir, or none where there
 * is none. Of checkpoints that do not hold their options a line says so. Without --resume: nothing.
 * HR_E_IO also where another process trains into --checkpoint-dir. */
HR_CHECKED enum hr_status hr_cli_resume(struct hr_cli *cli);

#endif
