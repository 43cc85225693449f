/* help.h - hogring help: the commands, one of them, or a page of the manual (src/cli/manual/). */
#ifndef HR_CLI_HELP_H
#define HR_CLI_HELP_H

#include "cli/commands.h"

/* hogring help [COMMAND [--all]|TOPIC], help strategies --list, help --man [FILE], help
 * --completion; the exit code. */
int hr_help(int argc, char **argv);

void hr_help_print(FILE *out);
/* all: every option, not only those that people use first */
void hr_help_print_command(FILE *out, const struct hr_command *command, bool all);

#endif
