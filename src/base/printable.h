/* printable.h - text of strangers (files, arguments, environment), made safe to print: what a
 * terminal might obey becomes '?'.
 *
 * That is control characters (below 0x20, and 0x7f), and the C1 controls 0x80 to 0x9f, both as
 * bytes and as UTF-8 has them; some terminals obey these, too. Other UTF-8 stays as it is.
 *
 * Used where text leaves: hr_fail, hr_log, and what the command prints (terminal/output.h).
 *
 * Test: tests/unit/base/test_printable.c
 */
#ifndef HR_BASE_PRINTABLE_H
#define HR_BASE_PRINTABLE_H

#include <stddef.h>
#include <stdio.h>

/* The state between pieces of one text; {0} before the first. */
struct hr_printable_state {
    unsigned char lead; /* bytes of UTF-8 that the last character still lacks */
    unsigned missing;   /* bytes of it */
};

/* Make the next n bytes safe, in place; the characters in `kept` ("\n\t") stay. */
void hr_make_printable(struct hr_printable_state *state, char *text, size_t n, const char *kept);

/* A whole text, for a message: cut to what fits. */
struct hr_printable {
    char text[160];
};
struct hr_printable hr_printable(const char *text);
/* Written whole. */
void hr_put_printable(FILE *out, const char *text);

/* A word as a shell reads it: one of other letters stands in single quotes, a quote in it as '\''.
 * Returns text, which has room for HR_SHELL_WORD(strlen(word)) bytes. */
#define HR_SHELL_WORD(length) (4 * (length) + 3)
char *hr_shell_word(const char *word, char *text);

#endif
