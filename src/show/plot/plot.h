/* plot.h - the picture of a document of --json, whoever wrote it: .svg or .png by the path's
 * ending.
 *
 *   runs                 learning curves; how stale updates were, and whose; stages of a pipeline
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
#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"

/* HR_E_USAGE for another ending, or nothing to draw; HR_E_IO names the package to install, or has
 * gnuplot's message. The file is replaced as a whole. */
HR_CHECKED enum hr_status hr_plot(const char *path, const json_t *document);

/* Its script for gnuplot, with all data; false: the document has nothing to draw, and why_not says
 * so. The picture goes to gnuplot's standard output. */
enum hr_plot_format { HR_PLOT_SVG, HR_PLOT_PNG };
bool hr_plot_script(FILE *out, enum hr_plot_format format, const json_t *document,
                    const char **why_not);

#endif
