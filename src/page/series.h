/* series.h - the curve of a group: at each evaluation the mean over its runs, least and most.
 *
 * The i-th evaluations of runs belong together. Where a run has fewer (it was stopped), or a value
 * is no number, the others count. Curves longer than HR_SERIES_MOST are thinned: kept are the first
 * evaluation and the last, of each of so many equal stretches those with the least and the most of
 * the first metric, and of every metric the least and the most of all.
 */
#ifndef HR_PAGE_SERIES_H
#define HR_PAGE_SERIES_H

#include "page/view.h"

enum { HR_SERIES_STRETCHES = 28, HR_SERIES_MOST = 2 * HR_SERIES_STRETCHES + 2 };

enum hr_abscissa { HR_SAMPLES, HR_UPDATES, HR_SECONDS, HR_EPOCH, HR_ABSCISSAS };

struct hr_point {
    double at[HR_ABSCISSAS]; /* means over the runs */
    size_t runs;
    struct hr_mean value[HR_METRICS];
};

struct hr_series {
    struct hr_point *point; /* (n) owned */
    size_t n, whole;        /* shown; evaluations there were */
};

/* HR_E_NOMEM. */
HR_CHECKED enum hr_status hr_series_make(struct hr_series *series, const struct hr_view *view,
                                         const struct hr_group *group);
void hr_series_free(struct hr_series *series);

/* "samples", as documents name it; and as people do. */
const char *hr_abscissa_key(enum hr_abscissa abscissa);
const char *hr_abscissa_title(enum hr_abscissa abscissa);

#endif
