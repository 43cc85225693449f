/* entries.h - the rows of a comparison: runs that differ by their seed alone are one entry. */
#ifndef HR_REPORT_ENTRIES_H
#define HR_REPORT_ENTRIES_H

#include "hogring/train.h"
#include "report/stats.h"

enum { HR_MAX_ENTRIES = 64, HR_MAX_SEEDS = 256 };

struct hr_entry {
    char label[48]; /* "allreduce direct", "ssp s=3", "ps-async 2 servers" */
    size_t n;       /* runs */
    const struct hr_run_result *run[HR_MAX_SEEDS];
};

/* Group runs by what they are, in order of first appearance; returns how many entries. Runs beyond
 * the room are left out (256 of an entry, 64 entries: more than --strategies takes). */
size_t hr_entries_of(const struct hr_run_result *runs, size_t n, struct hr_entry *entries);

/* Mean and deviation over an entry's runs of what `value` reads from a run. */
struct hr_spread hr_entry_spread(const struct hr_entry *entry,
                                 double (*value)(const struct hr_run_result *));

/* Values to read. */
double hr_value_accuracy(const struct hr_run_result *run); /* in percent */
double hr_value_test_loss(const struct hr_run_result *run);
double hr_value_train_loss(const struct hr_run_result *run);
double hr_value_seconds(const struct hr_run_result *run);
double hr_value_rate(const struct hr_run_result *run);
double hr_value_target(const struct hr_run_result *run); /* seconds; < 0: never reached */

#endif
