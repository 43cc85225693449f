/* tune.h - compare --tune: each entry chooses its values before it is compared.
 *
 * The validation split takes the place of the test split in the data that trials are given
 * (data/held_out.h): no trial can reach the test set. Trials have seeds that are not judged: trial
 * seed j of --seed S is S + 2^32 + j. Every entry may spend the same, in samples, updates or
 * seconds, whatever runs are measured in; how it is spent is search/halving.h.
 *
 * Threads: the launcher's alone. Test: tests/cli/tune.bats
 */
#ifndef HR_COMPARE_TUNE_H
#define HR_COMPARE_TUNE_H

#include "compare/compare.h"
#include "report/tuning.h"

/* HR_E_USAGE: --tune or --tune-budget cannot be what they are, or mean nothing beside others.
 * Before the data are read. */
HR_CHECKED enum hr_status hr_tune_check(const struct hr_cli *cli);

/* How many trainings a bare --tune makes at most for an entry of the runs, each as long as the one
 * that is compared; all entries may spend the same. */
size_t hr_tune_trainings(const struct hr_cli *cli, const struct hr_compare_runs *runs);

/* Where --tune asks for it: try, choose, and put the choice into the options of all runs of each
 * entry. tuning (zeroed) tells of it, and borrows from runs; free it. A trial that diverges is
 * data; any other that fails is an error. HR_E_INTERRUPTED. */
HR_CHECKED enum hr_status hr_tune(const struct hr_cli *cli, const struct hr_dataset *dataset,
                                  struct hr_compare_runs *runs, struct hr_tuning *tuning);

#endif
