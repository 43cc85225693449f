/* plot_script.h - writes a picture's gnuplot script; can be tested without gnuplot.
 *
 * Six panels: test loss and test accuracy (of values the rmse), each against samples, updates and
 * seconds of training; one line a group, the mean over its seeds by number of
 * evaluation, in a band from least to most.
 * Two more where updates were stale (plot_staleness.h), and one where there are stages
 * (plot_schedule.h).
 * A note below the title says what the picture does not show (not like for like); NULL: none.
 * The script contains all data; gnuplot writes the picture to its standard output.
 */
#ifndef HR_PLOT_PLOT_SCRIPT_H
#define HR_PLOT_PLOT_SCRIPT_H

#include <stdio.h>

#include "report/groups.h"
#include "plot/plot_style.h"

void hr_plot_script_write(FILE *out, enum hr_plot_format format, const char *title,
                          const char *note, const struct hr_groups *groups);

#endif
