/* gnuplot.h - pictures drawn by gnuplot: no shell, no file but the picture itself. */
#ifndef HR_PLOT_GNUPLOT_H
#define HR_PLOT_GNUPLOT_H

#include "base/error.h"
#include "plot/plot_style.h"

/* Write a script for gnuplot, terminal first. */
typedef void (*hr_script_fn)(FILE *out, enum hr_plot_format format, const void *arg);

/* Draw the script's picture to path: .svg or .png by its ending, else HR_E_USAGE. HR_E_IO names the
 * package to install, or has gnuplot's message. The file is replaced as a whole. */
HR_CHECKED enum hr_status hr_gnuplot_draw(const char *path, hr_script_fn write, const void *arg);

#endif
