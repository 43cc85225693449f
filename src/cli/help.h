/* help.h - hogring help: the commands, one of them, or a page of the manual (src/show/manual/). */
#ifndef HR_CLI_HELP_H
#define HR_CLI_HELP_H

#include "cli/commands.h"

/* hogring help [COMMAND [--all]|TOPIC], help strategies --list, help --man [FILE], help
 * --completion; the exit code. */
int hr_help(int argc, char **argv);

void hr_help_print(FILE *out);
/* all: every option, not only those that people use first */
void hr_help_print_command(FILE *out, const struct hr_command *command, bool all);

/* --- completion.c: what bash offers behind "hogring train --lo<Tab>": a script of its, made of the
 * rows of options, so that a new one needs nothing here. make install puts it where bash looks. */
/* Print the script; the exit code. */
int hr_completion_print(FILE *out);

/* --- man.c: the manual as man pages, for make install: hogring(1), one page a command (1) and one
 * a topic (7). What a command's page says comes from where its --help comes from. */
/* Print the source of a page named like its file ("hogring-train.1"), or, of NULL, the names of
 * all; the exit code. */
int hr_man(const char *file);

/* A page's body, with what is written from tables behind it: allocated. NULL: no memory. */
char *hr_man_body(const char *page);

/* --- help_search.c: the options and the places of the manual that tell of some words.
 *
 * A word is found where a word of the text begins with it, or is another form of it ("evaluated",
 * "evaluation"); and by what other programs call an option (options/nearest.h). What has more
 * of the words stands first, then what has them in its name, its title, its text. */
/* Print what there is on these words; false: nothing, and nothing was printed. */
bool hr_help_search(size_t nwords, char *const *words);

#endif
