/* plot_schedule.h - a panel of a picture: what the stages of a pipeline did when.
 *
 * A row a stage, time to the right: forward, backward (or its halves, for the data and for the
 * weights), and grey where it idles; every other chunk is paler. The number is the micro-batch,
 * where there is room for it.
 */
#ifndef HR_PLOT_PLOT_SCHEDULE_H
#define HR_PLOT_PLOT_SCHEDULE_H

#include <stdio.h>

#include "hogring/run_result.h"

struct hr_plot_schedule {
    const char *title;
    size_t stages, n;
    const struct hr_stage_span *span; /* (n) */
    const char *unit;                 /* of time; NULL: seconds */
};

/* The data blocks $schedule<number>..., and the panel's ranges, labels and plot command; margins
 * are set. */
void hr_plot_schedule_data(FILE *out, const struct hr_plot_schedule *schedule, size_t number);
void hr_plot_schedule_panel(FILE *out, const struct hr_plot_schedule *schedule, size_t number);

#endif
