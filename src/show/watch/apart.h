/* apart.h - outputs and inputs are files of their own. */
#ifndef HR_WATCH_APART_H
#define HR_WATCH_APART_H

#include "options/command_line.h"

/* HR_E_USAGE: two outputs are one file, by whatever names; or an output is what the command has
 * read, or will, and would be gone (base/inputs.h). What is no regular file, as /dev/null, is not
 * looked at. Once when all options are known, and again when the data are: a checkpoint, a trace or
 * a configuration may have named them. */
HR_CHECKED enum hr_status hr_apart_check(const struct hr_cli *cli);

#endif
