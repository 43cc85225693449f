/* apart.h - outputs and inputs are files of their own. */
#ifndef HR_WATCH_APART_H
#define HR_WATCH_APART_H

#include "options/command_line.h"

/* HR_E_USAGE: two outputs are one file, by whatever names; or an output is what the command reads,
 * and would be gone. What is no regular file, as /dev/null, is not looked at. */
HR_CHECKED enum hr_status hr_apart_check(const struct hr_cli *cli);

#endif
