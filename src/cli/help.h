/* help.h - how an option looks in --help. */
#ifndef HR_CLI_HELP_H
#define HR_CLI_HELP_H

#include <stdio.h>

/* "  --name METAVAR   text", wrapped; metavar may be NULL. */
void hr_help_option(FILE *out, const char *name, const char *metavar, const char *text);

#endif
