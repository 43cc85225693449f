/* completion.h - what bash offers behind "hogring train --lo<Tab>": a script of its, made of the
 * rows of options, so that a new one needs nothing here. make install puts it where bash looks. */
#ifndef HR_CLI_COMPLETION_H
#define HR_CLI_COMPLETION_H

#include <stdio.h>

/* Print the script; the exit code. */
int hr_completion_print(FILE *out);

#endif
