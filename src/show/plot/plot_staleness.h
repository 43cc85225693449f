/* plot_staleness.h - two panels of a picture: how stale updates were, and whose.
 *
 * Left: the share of updates (%, logarithmic) over staleness, of all seeds together, in bins of
 * equal width when there are many; the axis ends where 99.95 % are shown, and a line says what is
 * left out. Right: the mean by worker, over all seeds. Line styles are set before.
 */
#ifndef HR_PLOT_PLOT_STALENESS_H
#define HR_PLOT_PLOT_STALENESS_H

#include <stdbool.h>
#include <stdio.h>

#include "report/groups.h"

/* Was any update of any run stale? */
bool hr_plot_has_staleness(const struct hr_groups *groups);

/* The data blocks $stale0, $worker0, $stale1, ... of groups with stale updates. */
void hr_plot_staleness_data(FILE *out, const struct hr_groups *groups);

/* Ranges, labels and plot command; margins are set. */
void hr_plot_staleness_shares(FILE *out, const struct hr_groups *groups);
void hr_plot_staleness_workers(FILE *out, const struct hr_groups *groups);

#endif
