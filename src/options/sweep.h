/* sweep.h - options that were given several values: compare --lr 0.01,0.02 --workers 2,4.
 *
 * A list stands where one value would: commas part its values. A value that may have commas itself,
 * as a link or a list of layers, stands in "" or () in a list: --link '(1GB/s,5us),(10GB/s,2us)'.
 * Each option with a list is an axis; every combination of values is one point of the sweep, but
 * those that differ only in options which mean nothing to their strategy are one.
 *
 * Threads: none. Test: tests/cli/sweep.bats
 */
#ifndef HR_OPTIONS_SWEEP_H
#define HR_OPTIONS_SWEEP_H

#include <string.h>

#include "options/command_line.h"

/* Set an option by name, as hr_cli_set does, to a value or, where the command takes them (compare,
 * bench train), to a list: it becomes an axis, and the field its first value. Given again, the last
 * counts. HR_E_USAGE: a value of the list is none of the option or is in it twice; a list that is
 * too long; too many axes. `where` begins the message. */
HR_CHECKED enum hr_status hr_sweep_set(struct hr_cli *cli, enum hr_command_bit command,
                                       const char *name, const char *value, const char *where);

/* The option with this number becomes an axis, of one value or several, whatever the command.
 * Errors as above. */
HR_CHECKED enum hr_status hr_sweep_add(struct hr_cli *cli, enum hr_command_bit command,
                                       size_t option, const char *list, const char *where);

/* Was it given a list? */
bool hr_sweep_has(const struct hr_cli *cli, const char *name);

/* The lists by name, each an array of its values: a new reference; NULL: no memory. */
json_t *hr_sweep_json(const struct hr_cli *cli, enum hr_command_bit command);

/* Every option that was given, by name, as it would be typed again: {"workers": "2", "lr":
 * "0.01,0.02"}; a new reference; NULL: no memory. */
json_t *hr_sweep_given(const struct hr_cli *cli);

/* Points there may be: the product over axes. */
size_t hr_sweep_points(const struct hr_cli *cli);

/* own becomes its point k, the last axis' values first; what own->given says keeps its value.
 * own->given: the axes that mean something there, too; `text`, cut to size, says their values as an
 * entry of --strategies would: ":lr=0.01". *wanted: false where an earlier point is the same run.
 * HR_E_USAGE: as hr_cli_set. */
HR_CHECKED enum hr_status hr_sweep_point(const struct hr_cli *cli, enum hr_command_bit command,
                                         size_t k, struct hr_cli *own, bool *wanted, char *text,
                                         size_t size);

/* --- entries of --strategies ---
 * As ssp:staleness=1:lr=0.01: read, and told apart. Values
 * with commas or colons stand in "" or (), as link="1GB/s,5us", compute-time=lognormal(5ms,0.3). */

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

/* --- what --tune NAME=VALUES asks to be tried, before it is compared ---
 *
 *     lr=0.005:0.5       a range: 8 values, both ends among them, each as many times the one before
 *                        (two digits of each; whole numbers where the option counts)
 *     lr=0.005:0.5:12    so many values
 *     momentum=0,0.9     a list
 *
 * Given several times, or with ; between: every combination is a candidate. Options that take
 * numbers, and that an entry of --strategies may have, but none of a run's length.
 *
 * Test: tests/unit/options/test_tune.c, tests/cli/tune.bats */

/* tuned becomes cli, and what is tuned its axes in place of those with lists (sweep.h): points of
 * the sweep are candidates. HR_E_USAGE says what cannot be tuned, or not so. */
HR_CHECKED enum hr_status hr_tune_axes(const struct hr_cli *cli, struct hr_cli *tuned);

/* A bare --tune: cli->tune is HR_TUNE_USUAL. Each entry has axes of its own then: lr and, where it
 * is another one, momentum. */
#define HR_TUNE_USUAL "auto"
static inline bool hr_tune_is_usual(const struct hr_cli *cli)
{
    return !strcmp(cli->tune, HR_TUNE_USUAL);
}

/* Those of a run with these options: eight rates around its own, each twice the one before, and
 * momentum 0 beside its own. */
HR_CHECKED enum hr_status hr_tune_usual_axes(const struct hr_cli *cli,
                                             const struct hr_train_options *options,
                                             struct hr_cli *tuned);

#endif
