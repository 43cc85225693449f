/* plot_staleness.h - two panels of a picture: how stale updates were, and whose.
 *
 * Left: the share of updates (%, logarithmic) over staleness, of all seeds together, in bins of
 * equal width where there are many; the axis ends where 99.95 % are shown, and says what it leaves
 * out. Right: the mean by worker, over all seeds. Colours, dashes and
 * points are the line styles that the picture has set.
 */
#ifndef HR_PLOT_PLOT_STALENESS_H
#define HR_PLOT_PLOT_STALENESS_H

#include <stdbool.h>
#include <stdio.h>

#include "report/groups.h"

/* Was any update of any run stale? Else there is nothing to draw. */
bool hr_plot_has_staleness(const struct hr_groups *groups);

/* The data blocks $stale0, $worker0, $stale1, ...: of groups that have stale updates. */
void hr_plot_staleness_data(FILE *out, const struct hr_groups *groups);

/* Ranges, labels and plot command; margins are set. */
void hr_plot_staleness_shares(FILE *out, const struct hr_groups *groups);
void hr_plot_staleness_workers(FILE *out, const struct hr_groups *groups);

#endif
