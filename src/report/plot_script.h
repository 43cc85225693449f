/* plot_script.h - the gnuplot script of a comparison, apart from running it. */
#ifndef HR_REPORT_PLOT_SCRIPT_H
#define HR_REPORT_PLOT_SCRIPT_H

#include <stdio.h>

#include "hogring/train.h"

/* Write the script that draws to `path` with `terminal` ("svg", "pngcairo" or "png"). */
void hr_plot_script(FILE *out, const char *terminal, const char *path, const char *title,
                    const struct hr_run_result *runs, size_t n);

#endif
