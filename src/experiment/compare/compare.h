/* compare.h - a comparison: entries of --strategies x --seeds -> results.
 *
 *     struct hr_compare_runs *runs = calloc(1, sizeof *runs);
 *     HR_TRY(hr_compare_plan(cli, runs));                    each run has its options
 *     cli->data_options.admit = hr_compare_admit;            with runs as its argument
 *     HR_TRY(hr_dataset_open_with(cli->data, &cli->data_options, dataset));
 *     HR_TRY(hr_compare_check(cli, runs, dataset));
 *     HR_TRY(hr_compare_run(cli, dataset, runs));            hours
 *     failed = hr_compare_sort_out(runs, &good);             runs->results[0 .. good)
 *     hr_compare_free(runs);
 *
 * Threads: the launcher's alone. Test: tests/cli/compare.bats
 */
#ifndef HR_COMPARE_COMPARE_H
#define HR_COMPARE_COMPARE_H

#include "json/documents.h"
#include "options/command_line.h"
#include "report/progress.h"
#include "verdict/verdict.h"
#include "watch/watch.h"

enum { HR_COMPARE_RUNS_MAX = 256 };

/* The runs of one comparison. */
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
    size_t folds;                     /* a seed is a fold; 0: it is none */
    char split[sizeof((struct hr_data_options *)0)->split]; /* --split, without a fold */
    struct hr_remaining remaining;
    char head[200]; /* of what they share */
    struct hr_watch_share share;
    struct hr_failed_run failed[HR_COMPARE_RUNS_MAX]; /* (nfailed), when all is over */
    size_t nfailed;
    bool unwritten; /* a run's log, timeline or last checkpoint is not whole, as was said */
};

/* Fill runs (zeroed) from the command line: entries x options with lists x seeds. HR_E_USAGE: what
 * no run can be told; HR_E_IO: a checkpoint that one goes on from. */
HR_CHECKED enum hr_status hr_compare_plan(struct hr_cli *cli, struct hr_compare_runs *runs);

/* May samples of this shape be read? As hr_data_options want it; arg: the runs. */
HR_CHECKED enum hr_status hr_compare_admit(const void *arg, struct hr_shape shape);

/* Before the first is trained: refuse what could only fail after the runs before it. */
HR_CHECKED enum hr_status hr_compare_check(const struct hr_cli *cli,
                                           const struct hr_compare_runs *runs,
                                           const struct hr_dataset *dataset);

/* Train them, one after another or, with --concurrent, those of a seed at once. A run that fails
 * is no error of this: see sort_out. Signals end it early. With --folds the data are opened anew
 * for each, whatever that may fail with. */
HR_CHECKED enum hr_status hr_compare_run(const struct hr_cli *cli, struct hr_dataset *dataset,
                                         struct hr_compare_runs *runs);

/* The runs that ended well come first in runs->results, *good of them, in their order, each with
 * its setting (what tells it from other entries); the others are in runs->failed, and named on
 * stderr. Returns how the first of those ended. */
HR_CHECKED enum hr_status hr_compare_sort_out(struct hr_compare_runs *runs, size_t *good);

/* What the verdict is told of them: the target, what claims hold at, and the commands that compare
 * fairly, and over several seeds. `good` runs ended well; `tuned`: each entry has searched for its
 * values. text is where it stands. */
struct hr_fair_text {
    char at[160], fair[8192], fair_change[512], more[8192], more_change[512];
};
struct hr_verdict_request hr_compare_request(const struct hr_cli *cli,
                                             const struct hr_compare_runs *runs, size_t good,
                                             bool tuned, struct hr_fair_text *text);

/* Frees results and runs; NULL is fine. */
void hr_compare_free(struct hr_compare_runs *runs);

#endif
