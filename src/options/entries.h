/* entries.h - the entries of --strategies, as ssp:staleness=1:lr=0.01: read, and told apart. Values
 * with commas or colons stand in "" or (), as link="1GB/s,5us", compute-time=lognormal(5ms,0.3). */
#ifndef HR_OPTIONS_ENTRIES_H
#define HR_OPTIONS_ENTRIES_H

#include "options/command_line.h"

/* Cut a list at its first `separator`: *piece is what stands before it, *rest what stands behind
 * it, NULL when that was the last. Parentheses and double quotes keep together what stands in them.
 * HR_E_USAGE: one of them is not closed. */
HR_CHECKED enum hr_status hr_entry_cut(char **rest, char separator, char **piece);

/* Without the quotes or parentheses in which all of it stands. */
char *hr_entry_bare(char *value);

/* Is this option one for all that are compared? Such are options that are none of a run (data,
 * files of results), the run's place in the comparison (the seed), what all are measured by. */
bool hr_entry_is_for_all(const char *name);

/* One entry, cut into pieces: own becomes cli with its settings, and own->given those that it
 * gives; what they mean is for hr_meaning_check. HR_E_USAGE: a setting that does not parse, or
 * that is one for all runs. */
HR_CHECKED enum hr_status hr_entry_parse(const struct hr_cli *cli, char *entry, struct hr_cli *own);

/* What run i of n has other settings for than some other has, as "momentum 0.5, model cnn": those
 * that its own entry gives, or that other entries of its strategy give otherwise. Not what every
 * result says itself (workers, lr, ...: report/groups.c). */
void hr_entry_setting(const struct hr_train_options *options, size_t n, size_t i, char *text,
                      size_t size);

#endif
