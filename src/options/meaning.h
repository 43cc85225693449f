/* meaning.h - options that mean nothing beside others are refused, not ignored. */
#ifndef HR_OPTIONS_MEANING_H
#define HR_OPTIONS_MEANING_H

#include "options/command_line.h"

/* Does each training option that was given (cli->given) mean something in a run of these options?
 * HR_E_USAGE names one that does not, and where it belongs; or the unknown strategy. */
HR_CHECKED enum hr_status hr_combination_check(const struct hr_cli *cli,
                                               const struct hr_train_options *o);

/* The same of a sparse model's run, but for what belongs to checkpoints; asked by the above. */
HR_CHECKED enum hr_status hr_sparse_meaning_check(const struct hr_cli *cli,
                                                  const struct hr_train_options *o);

/* What neither cli nor `given` gives becomes the default of cli's model, where sparse models have
 * one of their own. */
void hr_cli_settle_model(struct hr_cli *cli, unsigned command, const bool *given);

/* HR_E_USAGE: --link was given beside a topology's file, which says how fast its links are. */
HR_CHECKED enum hr_status hr_combination_check_link(const struct hr_cli *cli, const char *topology);

#endif
