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

#endif
