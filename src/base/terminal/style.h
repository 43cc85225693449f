/* style.h - colour: marks in text, which stand for what a terminal obeys.
 *
 *     fprintf(out, "%s97.31 %%%s", hr_style(out, HR_GOOD), hr_style(out, HR_PLAIN));
 *
 * A mark is a single control character. Streams that were allowed colour turn it into an SGR
 * sequence where bytes leave (hr_style_put, behind all that makes strangers' text safe); of all
 * others hr_style gives "". So a stranger's text can at most be bold: nothing else is a mark.
 *
 * Threads:  hr_style_allow before any other.
 * Test:     tests/unit/terminal/test_style.c
 */
#ifndef HR_TERMINAL_STYLE_H
#define HR_TERMINAL_STYLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

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

#endif
