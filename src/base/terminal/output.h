/* output.h - what the command prints: safe for a terminal, and not lost in silence.
 *
 * stdout and stderr are replaced by streams in front of the same descriptors that put '?' in the
 * place of what a terminal might obey (base/printable.h), newlines and tabs apart: names out of
 * files and arguments reach tables, banners and messages on many ways, and all of them end here.
 *
 * Threads: hr_output_begin before any other, hr_output_end behind all.
 * Test:    tests/cli/output.bats
 */
#ifndef HR_TERMINAL_OUTPUT_H
#define HR_TERMINAL_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"

void hr_output_begin(void);

/* From now on lines fit a terminal's columns (COLUMNS, or as it says itself): longer ones are
 * broken at blanks. Files and pipes have them whole (of stdout, unless COLUMNS says otherwise), and
 * so has a terminal where `wide`. */
void hr_output_fold(bool wide);
/* Which of them have colour: auto, always, never (terminal/style.h). */
void hr_output_colour(const char *choice);
/* Columns that stdout has; 0: any number. */
size_t hr_output_width(void);

/* stderr as it was, for what moves the cursor. */
FILE *hr_output_terminal(void);

/* The exit code: `code`, but 3 instead of 0 and a line on stderr when something on stdout did not
 * arrive. Whoever closes a pipe has seen enough. */
int hr_output_end(int code);

/* What a command that fails like this exits with. */
int hr_cli_exit_code(enum hr_status status);
/* Print "hogring: <message>" for a failed call and return its exit code. */
int hr_cli_failed(enum hr_status status);

#endif
