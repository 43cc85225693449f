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

#include "compare/runs.h"
#include "verdict/verdict.h"

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
 * is no error of this: see sort_out. Signals end it early. */
HR_CHECKED enum hr_status hr_compare_run(const struct hr_cli *cli, const struct hr_dataset *dataset,
                                         struct hr_compare_runs *runs);

/* The runs that ended well come first in runs->results, *good of them, in their order, each with
 * its setting (what tells it from other entries); the others are in runs->failed, and named on
 * stderr. Returns how the first of those ended. */
HR_CHECKED enum hr_status hr_compare_sort_out(struct hr_compare_runs *runs, size_t *good);

/* What the verdict is told of them: the target, what claims hold at, and the commands that compare
 * fairly, and over several seeds. `good` runs ended well; `tuned`: each entry has searched for its
 * values. text is where it stands. */
struct hr_fair_text {
    char at[160], fair[8192], more[8192];
};
struct hr_verdict_wish hr_compare_wish(const struct hr_cli *cli, const struct hr_compare_runs *runs,
                                       size_t good, bool tuned, struct hr_fair_text *text);

/* Frees results and runs; NULL is fine. */
void hr_compare_free(struct hr_compare_runs *runs);

#endif
