/* chart.h - a small SVG: axes, and where a value lies on them.
 *
 * Colours are classes (style.css), so that light and dark are one picture; sizes are those of the
 * viewBox, so that text grows with the picture.
 */
#ifndef HR_PAGE_CHART_H
#define HR_PAGE_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { HR_TICKS = 12, HR_TICK_MAX = 24 };

struct hr_axis {
    double least, most; /* least < most */
    bool log;           /* least > 0 */
    double tick[HR_TICKS];
    size_t nticks;
};

/* From least to most; `whole` lets both ends be ticks. log is taken where numbers are positive, and
 * where they lie further apart than one look can tell. */
void hr_axis_fit(struct hr_axis *axis, double least, double most, bool whole, bool may_be_log);
/* 0 to 1; what lies outside, at the end. */
double hr_axis_place(const struct hr_axis *axis, double x);
/* "12k", "0.25" */
char *hr_tick_text(char text[HR_TICK_MAX], double tick);

struct hr_chart {
    FILE *out;
    struct hr_axis x, y;
    double width, height;            /* of the picture */
    double left, top, right, bottom; /* margins */
};

double hr_chart_x(const struct hr_chart *chart, double x);
double hr_chart_y(const struct hr_chart *chart, double y);

/* <svg role=img> with title and description; `id` makes theirs. `more` stands among the attributes,
 * escaped already. */
void hr_chart_begin(const struct hr_chart *chart, const char *id, const char *title,
                    const char *description, const char *more);
/* Lines of the grid with their numbers, and the name of the x axis. */
void hr_chart_axes(const struct hr_chart *chart, const char *x_title);
void hr_chart_end(const struct hr_chart *chart);

#endif
