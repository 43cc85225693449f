/* plot_style.h - what all pictures share: quoting, colours, dashes, points, the terminal. */
#ifndef HR_PLOT_PLOT_STYLE_H
#define HR_PLOT_PLOT_STYLE_H

#include <stddef.h>
#include <stdio.h>

enum hr_plot_format { HR_PLOT_SVG, HR_PLOT_PNG };

/* Text in gnuplot's quotes, cut to so many characters. */
void hr_plot_quote(FILE *out, const char *text, size_t most_characters);

/* Line style of the i-th curve; styles repeat. */
const char *hr_plot_color(size_t i);
const char *hr_plot_dash(size_t i);
int hr_plot_point(size_t i);

/* "set terminal ...", 1200 wide and so high. */
void hr_plot_terminal(FILE *out, enum hr_plot_format format, int width, int height);

#endif
