/* man.h - the manual as man pages, for make install: hogring(1), one page a command (1) and one a
 * topic (7). What a command's page says comes from where its --help comes from. */
#ifndef HR_CLI_MAN_H
#define HR_CLI_MAN_H

/* Print the source of a page named like its file ("hogring-train.1"), or, of NULL, the names of
 * all; the exit code. */
int hr_man(const char *file);

/* A page's body, with what is written from tables behind it: allocated. NULL: no memory. */
char *hr_man_body(const char *page);

#endif
