/* runs.h - the runs of one comparison, and the two ways to run them; their face is compare.h. */
#ifndef HR_COMPARE_RUNS_H
#define HR_COMPARE_RUNS_H

#include "options/command_line.h"
#include "json/documents.h"
#include "watch/watch.h"
#include "report/progress.h"

enum { HR_COMPARE_RUNS_MAX = 256 };

struct hr_compare_runs {
    size_t n, per_seed;
    char entry[HR_COMPARE_RUNS_MAX]
              [64]; /* of --strategies, cut short; runs go by it while they last */
    char text[HR_COMPARE_RUNS_MAX][512];             /* the whole entry, with its values of lists */
    bool given[HR_COMPARE_RUNS_MAX][HR_CLI_OPTIONS]; /* what the entry itself gives */
    char name[HR_COMPARE_RUNS_MAX][HR_RUN_NAME];     /* in files */
    struct hr_train_options options[HR_COMPARE_RUNS_MAX];
    struct hr_run_result results[HR_COMPARE_RUNS_MAX];
    enum hr_status status[HR_COMPARE_RUNS_MAX];
    char message[HR_COMPARE_RUNS_MAX][480];
    bool ran[HR_COMPARE_RUNS_MAX];
    bool spared[HR_COMPARE_RUNS_MAX]; /* another order, of what no order changes: is not run */
    size_t orders;                    /* of events, with each seed */
    struct hr_remaining remaining;
    char head[200]; /* of what they share */
    struct hr_watch_share share;
    struct hr_failed_run failed[HR_COMPARE_RUNS_MAX]; /* (nfailed), when all is over */
    size_t nfailed;
    bool unwritten; /* a run's log is not whole, as was said */
};

/* They begin: what is said of them, and of run i. */
void hr_compare_runs_begin(struct hr_compare_runs *runs, bool concurrent);
struct hr_progress_subject hr_compare_runs_subject(const struct hr_compare_runs *runs, size_t i);

/* Note how run i ended. */
void hr_compare_runs_note(struct hr_compare_runs *runs, size_t i, enum hr_status status,
                          const char *message);

/* One after another. */
HR_CHECKED enum hr_status hr_compare_in_turn(const struct hr_cli *cli,
                                             const struct hr_dataset *dataset,
                                             struct hr_compare_runs *runs);

/* All strategies of a seed at once, each in a process of its own that tells the others apart only
 * by the processors they take; seeds one after another. Where there are enough processors each
 * strategy gets a share of its own. */
HR_CHECKED enum hr_status hr_compare_side_by_side(const struct hr_cli *cli,
                                                  const struct hr_dataset *dataset,
                                                  struct hr_compare_runs *runs);

#endif
