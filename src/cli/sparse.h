/* sparse.h - hogring train --model logistic|svm|mf: the sparse engine behind the same options. */
#ifndef HR_CLI_SPARSE_H
#define HR_CLI_SPARSE_H

#include "options/command_line.h"

/* Is --model one of the sparse engine's? */
bool hr_cli_is_sparse(const struct hr_cli *cli);

/* Put the sparse engine's defaults where nothing was given, and refuse options that mean nothing
 * there. */
HR_CHECKED enum hr_status hr_cli_sparse_settle(struct hr_cli *cli);

#endif
