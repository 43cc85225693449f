/* trials.h - one entry of a comparison as a search: its candidates, and a trial of one of them.
 *
 * A trial is a run like those that are compared, but for its seed, its length and its data, whose
 * test split is the validation split; and it leaves nothing behind. What is counted in epochs of a
 * run's length, warm-up and steps of the rate, is shorter as the run is shorter.
 */
#ifndef HR_COMPARE_TRIALS_H
#define HR_COMPARE_TRIALS_H

#include "compare/runs.h"
#include "data/held_out.h"
#include "options/budget.h"
#include "report/tuning.h"
#include "search/halving.h"

#define HR_TRIAL_SEEDS (UINT64_C(1) << 32) /* beyond those that are judged */

struct hr_trials {
    const struct hr_cli *cli;
    const struct hr_dataset *dataset;   /* train: what is left; test: what is held out */
    struct hr_train_options *candidate; /* (entry->ncandidates) owned */
    struct hr_budget longest;           /* the judged run's length */
    size_t pass;                        /* samples of a judged run's epoch */
    uint64_t seed;                      /* of the first judged run */
    size_t trials;                      /* that are planned */
    /* A second search: the chosen candidate, and those from `wider` on; 0: it is the first. */
    size_t wider, first_rung, first_seed;
    struct hr_tuning *tuning;
    struct hr_tuned_entry *entry;
};

/* Candidates of an entry of runs: those of `tuned`, the command line whose axes are tuned. */
HR_CHECKED enum hr_status hr_trials_open(struct hr_trials *trials, const struct hr_cli *tuned,
                                         const struct hr_compare_runs *runs, size_t i);
void hr_trials_close(struct hr_trials *trials);

/* Would each candidate train? HR_E_USAGE, HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_trials_check(const struct hr_trials *trials);

/* Do its updates depend on no order of events, so that equal weights are no accident? */
bool hr_trials_in_step(const struct hr_trials *trials);

/* Rates beyond the chosen one, which lies at that edge (1: the largest), as more candidates. */
enum { HR_TRIALS_WIDER = 3 };
HR_CHECKED enum hr_status hr_trials_widen(struct hr_trials *trials, int edge);

/* For struct hr_search: train; arg: the trials. */
HR_CHECKED enum hr_status hr_trials_train(void *arg, struct hr_search_trial *trial);

#endif
