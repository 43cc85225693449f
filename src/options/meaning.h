/* meaning.h - options that mean nothing beside others are refused, not ignored.
 *
 * What an option goes with stands in its row (option.h), and in the strategies that obey it
 * (their `options`): one that is in no list of theirs means the same to all.
 *
 * Test: tests/cli/meaningless.bats, refusals.bats, strategies.bats, sparse.bats
 */
#ifndef HR_OPTIONS_MEANING_H
#define HR_OPTIONS_MEANING_H

#include "options/command_line.h"

/* Does each training option that was given (cli->given) mean something in a run of these options?
 * HR_E_USAGE names one that does not, and where it belongs; or the unknown strategy. */
HR_CHECKED enum hr_status hr_meaning_check(const struct hr_cli *cli,
                                           const struct hr_train_options *o);

/* Does each option that was given mean something in one of n runs at least? The options of the
 * first; from those of one to the next are so many bytes. */
HR_CHECKED enum hr_status hr_meaning_check_some(const struct hr_cli *cli,
                                                const struct hr_train_options *first, size_t n,
                                                size_t bytes);

/* Would a run of these options obey this one, whatever its value? Asked of its strategy, optimizer
 * and model, and of the options that it goes with. */
bool hr_option_is_obeyed(const struct hr_option *row, const struct hr_train_options *o);

/* What neither cli nor `given` gives becomes the default of cli's model, where sparse models have
 * one of their own. */
void hr_cli_resolve_model(struct hr_cli *cli, unsigned command, const bool *given);

/* HR_E_USAGE: --link was given beside a topology's file, which says how fast its links are. */
HR_CHECKED enum hr_status hr_meaning_check_link(const struct hr_cli *cli, const char *topology);

#endif
