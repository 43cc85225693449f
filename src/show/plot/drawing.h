/* drawing.h - inside plot: what all pictures share. Documents may be anybody's: what is missing,
 * or of another type, is read as nothing (base/json.h). */
#ifndef HR_PLOT_DRAWING_H
#define HR_PLOT_DRAWING_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/json.h"
#include "plot/plot.h"

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
const char *hr_plot_color(size_t i);
const char *hr_plot_dash(size_t i);
int hr_plot_point(size_t i);

/* --- kinds of pictures: false where they have nothing to draw --- */

bool hr_plot_runs(FILE *out, enum hr_plot_format format, const json_t *document);
bool hr_plot_lines(FILE *out, enum hr_plot_format format, const json_t *document);
bool hr_plot_roofline(FILE *out, enum hr_plot_format format, const json_t *document);
bool hr_plot_steps(FILE *out, enum hr_plot_format format, const json_t *document);

/* A panel: what stages did when. A row a stage, time to the right: forward, backward (or its
 * halves, for the data and for the weights), and grey where it idles; every other chunk is paler.
 * The number is the micro-batch, where there is room for it. `step`: as in documents, a list of
 * [stage, work, micro-batch, chunk, start, end]; unit: of time, NULL for seconds. */
struct hr_plot_step {
    const char *title, *unit;
    size_t stages;
    const json_t *step;
};
/* The data blocks $schedule<number>..., and the panel's ranges, labels and plot command; margins
 * are set. */
void hr_plot_step_data(FILE *out, const struct hr_plot_step *step, size_t number);
void hr_plot_step_panel(FILE *out, const struct hr_plot_step *step, size_t number);

#endif
