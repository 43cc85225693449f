/* html.h - HTML and SVG, written so that no text breaks out of its place.
 *
 * Whatever comes out of a document goes through hr_html_text or hr_html_say; everything else is
 * ours. `out` is a stream in memory: its errors are seen when it is closed.
 */
#ifndef HR_PAGE_HTML_H
#define HR_PAGE_HTML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "page/fields.h"

enum { HR_NUMBER_MAX = 64 };

/* Text, or an attribute's value within quotes. Characters that HTML forbids become U+FFFD. */
void hr_html_text(FILE *out, const char *text);
/* As fprintf, escaped as a whole. */
void hr_html_say(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "0.4123", "1.2e+30", "12,345"; a dash for what is no number. So many significant digits. */
char *hr_number_text(char text[HR_NUMBER_MAX], double x, int digits);
/* "41.2k" of rates, "12,345" of counts. */
char *hr_number_short(char text[HR_NUMBER_MAX], double x);
/* "12.3 s", "450 µs", "2 h 5 min" */
char *hr_number_time(char text[HR_NUMBER_MAX], double seconds);

/* <section> with its heading, of which `id` is the anchor. */
void hr_html_section(FILE *out, const char *id, const char *title);
void hr_html_section_end(FILE *out);

/* A table in a box of its own that scrolls where the screen is narrower. */
void hr_html_table(FILE *out, const char *caption, const char *class);
void hr_html_table_end(FILE *out);

/* Cells: a column's head, of numbers or of text; a row's head; numbers; text. */
void hr_html_column(FILE *out, const char *title, bool numbers);
void hr_html_row_head(FILE *out, const char *text);
void hr_html_cell(FILE *out, const char *text);
void hr_html_cell_number(FILE *out, double x, int digits);
/* "97.31 ± 0.12", of several; times factor. */
void hr_html_cell_mean(FILE *out, const struct hr_mean *mean, double factor, int digits);
/* "211k ± 77k" */
void hr_html_cell_short(FILE *out, const struct hr_mean *mean);

/* <details> with a summary, closed. */
void hr_html_details(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void hr_html_details_end(FILE *out);

#endif
