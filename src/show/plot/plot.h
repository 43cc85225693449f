/* plot.h - the picture of a document of --json, whoever wrote it: .svg or .png by the path's
 * ending.
 *
 *   runs                 learning curves
 *   rows of collectives  times over sizes, a curve an algorithm; of a store a curve a setup, or
 *                        over workers, where all rows have one size
 *   rows of training     samples/s over workers, with what would be ideal
 *   rows of layers       the roofline
 *   steps                what stages of a pipeline did when, a panel above the other
 *
 * Documents of earlier versions lack a title and a note, which pictures do without. Needs gnuplot:
 * no shell, no file but the picture itself.
 *
 * Threads: none. Test: tests/unit/plot/test_plot.c
 */
#ifndef HR_PLOT_PLOT_H
#define HR_PLOT_PLOT_H

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"

/* HR_E_USAGE for another ending, or nothing to draw; HR_E_IO names the package to install, or has
 * gnuplot's message. The file is replaced as a whole. */
HR_CHECKED enum hr_status hr_plot(const char *path, const json_t *document);

/* Its script for gnuplot, with all data; false: the document has nothing to draw, and why_not says
 * so. The picture goes to gnuplot's standard output. */
enum hr_plot_format { HR_PLOT_SVG, HR_PLOT_PNG };
bool hr_plot_script(FILE *out, enum hr_plot_format format, const json_t *document,
                    const char **why_not);

/* --- inside plot: what all pictures share. Documents may be anybody's: what is missing, or of
 * another type, is read as nothing (base/json.h) --- */

/* Text in gnuplot's quotes, cut to so many characters. */
void hr_plot_quote(FILE *out, const char *text, size_t most_characters);
/* "set terminal ...". */
void hr_plot_terminal(FILE *out, enum hr_plot_format format, int width, int height);
/* "set title ...", and the frame of a picture that has one panel. */
void hr_plot_frame(FILE *out, const json_t *document);
/* One curve more: "plot ..., ...", whose line the caller ends. */
struct hr_plot_list {
    FILE *out;
    size_t n;
};
void hr_plot_add(struct hr_plot_list *list, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Line style of the i-th curve; styles repeat. */
struct hr_plot_style {
    const char *color, *dash;
    int point;
};
struct hr_plot_style hr_plot_style(size_t i);
/* Of every panel. */
#define HR_PLOT_AXES                                                                               \
    "set border 3 lc rgb '#404040'\nset tics nomirror out\nset grid lc rgb '#dddddd' lt 1 lw "     \
    "0.8\n"

/* --- kinds of pictures: false where they have nothing to draw --- */

bool hr_plot_runs(FILE *out, enum hr_plot_format format, const json_t *document);
bool hr_plot_lines(FILE *out, enum hr_plot_format format, const json_t *document);
bool hr_plot_roofline(FILE *out, enum hr_plot_format format, const json_t *document);
bool hr_plot_steps(FILE *out, enum hr_plot_format format, const json_t *document);

#endif
