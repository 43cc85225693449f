/* output.h - stdout and stderr, as wide and as colourful as the terminal allows.
 *
 * Threads: none. Test: tests/unit/terminal/, tests/cli/terminal.bats */
#ifndef HR_TERMINAL_OUTPUT_H
#define HR_TERMINAL_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

/* --- fit --- */

/* What there is no room for in a line of columns, two blanks between them. */

struct hr_fitted {
    size_t width;
    int expendable; /* 0: never */
    bool shown;
};

/* Of those that are shown the most expendable go, of several the last, until the line fits; room 0:
 * it does. One is always left. */
void hr_fit(struct hr_fitted *column, size_t n, size_t room);

/* --- style --- */

/* Colour: marks in text, which stand for what a terminal obeys.
 *
 *     fprintf(out, "%s97.31 %%%s", hr_style(out, HR_GOOD), hr_style(out, HR_PLAIN));
 *
 * A mark is a single control character. Streams that were allowed colour turn it into an SGR
 * sequence where bytes leave (hr_style_put, behind all that makes strangers' text safe); of all
 * others hr_style gives "". So a stranger's text can at most be bold: nothing else is a mark. */

enum hr_style { HR_PLAIN, HR_BOLD, HR_FAINT, HR_GOOD, HR_WARN, HR_BAD, HR_STYLES };

/* All marks, to be kept by hr_make_printable. */
extern const char hr_style_marks[];

/* Shall there be colour? choice: always, never; auto: where fd is a terminal whose TERM is set and
 * not dumb, and NO_COLOR is not set, or empty (no-color.org). */
bool hr_style_wanted(const char *choice, int fd);
/* Is that a terminal on which a line can be drawn again? */
bool hr_terminal_redraws(int fd);

/* From now on this stream has colour. At most two. */
void hr_style_allow(const FILE *stream);
/* The mark, or "". */
const char *hr_style(const FILE *stream, enum hr_style style);

/* Pass text on, marks as what a terminal obeys. false when put does, and stops. */
typedef bool (*hr_style_put_fn)(void *arg, const char *text, size_t n);
bool hr_style_put(const char *text, size_t n, hr_style_put_fn put, void *arg);

/* Columns of a text: marks take none, other characters one. */
size_t hr_style_columns(const char *text);
/* Bytes of a text that take at most so many columns. */
size_t hr_style_cut(const char *text, size_t columns);

/* --- output --- */

/* What the command prints: safe for a terminal, and not lost in silence.
 *
 * stdout and stderr are replaced by streams in front of the same descriptors that put '?' in the
 * place of what a terminal might obey (base/printable.h), newlines and tabs apart: names out of
 * files and arguments reach tables, banners and messages on many ways, and all of them end here. */

void hr_output_begin(void);

/* From now on lines fit a terminal's columns (COLUMNS, or as it says itself): longer ones are
 * broken at blanks. Files and pipes have them whole (of stdout, unless COLUMNS says otherwise), and
 * so has a terminal where `wide`. all: no command's end is made shorter either (below). */
void hr_output_fold(bool wide, bool all);
/* Which of them have colour: auto, always, never (hr_style_wanted). */
void hr_output_colour(const char *choice);
/* Columns that stdout has; 0: any number. */
size_t hr_output_width(void);

/* --- a command's end, on one screen --- */

/* From hold on, what is printed on stdout waits; hr_output_release prints it, in four lines less
 * than the terminal has (20 at least), of which `after` are kept for what follows. Lines that may
 * yield go where there is no room, of a kind the last first. Returns how many lines were left out,
 * or cut. What waits at a command's end is released there; a line says that --details has the rest.
 *
 * Where stdout is no terminal, lines are not folded, or all is to stand there, nothing waits and
 * nothing is left out. */
void hr_output_hold(void);
size_t hr_output_release(size_t after);

/* What may yield, the first kind first: what a table above tells, too; what does not stand there;
 * rows of a list, where "..." stands for those that follow one another; and, when sentences are cut
 * after two lines and that is not enough, what a table's marks mean. */
enum hr_yield { HR_REPEATED, HR_NOTICE, HR_ROW, HR_LEGEND, HR_YIELDS };
/* A mark to begin such a line with, in a table, too (grid.h); "" where nothing waits. */
const char *hr_yields(const FILE *stream, enum hr_yield yield);
/* Is that such a mark? */
bool hr_is_yield(char c);

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
