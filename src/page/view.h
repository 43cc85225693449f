/* view.h - what a page is about: the runs of all its documents, those that differ only in their
 * seed as one group, and what was measured of them.
 */
#ifndef HR_PAGE_VIEW_H
#define HR_PAGE_VIEW_H

#include <stdbool.h>

#include "page/fields.h"
#include "page/page.h"

enum { HR_METRICS = 10, HR_DRAWN = 8, HR_LABEL_MAX = 200 };

/* A group: a strategy with its settings. */
struct hr_group {
    char label[HR_LABEL_MAX]; /* differs from all others */
    size_t source;
    const json_t **run; /* (n) borrowed */
    size_t n;
};

/* "test_accuracy": of every field train_x, test_x, validation_x that is a number somewhere; and
 * "test_fit", "rmse": of those that are objects of numbers. */
struct hr_metric {
    char part[32]; /* "": the field itself */
    char key[48];
    char title[112]; /* "Test accuracy" */
    bool share;      /* 0 to 1: shown as % */
    bool more;       /* is better */
};

struct hr_view {
    const struct hr_page_source *source;
    size_t nsources;
    size_t nruns;
    const json_t **run; /* owned: behind the run[] of all groups */
    struct hr_group *group;
    size_t ngroups;
    size_t
        drawn[HR_DRAWN]; /* groups that have a line of their own: all, or those that ended best */
    size_t ndrawn;
    struct hr_metric metric[HR_METRICS];
    size_t nmetrics;
    size_t primary; /* by which runs are called better; nmetrics: there is none */
};

HR_CHECKED enum hr_status hr_view_make(struct hr_view *view, const struct hr_page_source *sources,
                                       size_t n);
void hr_view_free(struct hr_view *view);

/* Over the runs of a group. */
struct hr_mean hr_group_mean(const struct hr_group *group, const char *key);
/* Of a part of each run: "staleness", "mean". */
struct hr_mean hr_group_mean_of(const struct hr_group *group, const char *part, const char *key);
/* How many runs say true. */
size_t hr_group_count(const struct hr_group *group, const char *part, const char *key);

/* The group with the best primary metric; ngroups: none has one. */
size_t hr_view_best(const struct hr_view *view);

/* Of a run, or of a point of its curve; NaN. And over the runs of a group. */
double hr_metric_of(const struct hr_metric *metric, const json_t *object);
struct hr_mean hr_group_metric(const struct hr_group *group, const struct hr_metric *metric);

/* What a metric's numbers are shown as: in %, or as they are. */
double hr_metric_factor(const struct hr_metric *metric);

#endif
