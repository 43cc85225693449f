/* panel.h - one picture of learning curves: a metric against samples, updates or seconds. */
#ifndef HR_PAGE_PANEL_H
#define HR_PAGE_PANEL_H

#include "page/chart.h"
#include "page/series.h"

struct hr_panel {
    const struct hr_view *view;
    const struct hr_series *series; /* (ndrawn) */
    size_t metric;
    enum hr_abscissa abscissa;
    struct hr_chart chart; /* out; the panel sets the rest */
};

/* Axes that hold all lines and bands; false where there is nothing to draw. */
bool hr_panel_fit(struct hr_panel *panel);
void hr_panel_write(struct hr_panel *panel);

#endif
