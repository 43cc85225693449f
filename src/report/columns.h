/* columns.h - a table of runs: one row a group, columns as wide as their widest cell, a header of
 * two lines. The first column is aligned left, the others right. */
#ifndef HR_REPORT_COLUMNS_H
#define HR_REPORT_COLUMNS_H

#include <stdint.h>
#include <stdio.h>

#include "report/groups.h"

enum { HR_CELL_MAX = 168, HR_COLUMNS_MAX = 20 };

/* A cell's text (HR_CELL_MAX). */
typedef void (*hr_cell_fn)(const struct hr_run_group *group, char *cell);

struct hr_column {
    const char *over, *head; /* the two lines of its header */
    hr_cell_fn cell;
    int expendable;        /* where there is no room, the most expendable goes first; 0: never */
    hr_measure_fn measure; /* the best is coloured; NULL: none is better than another */
    bool less;             /* is better */
};

struct hr_columns {
    const struct hr_column *column; /* (n) */
    size_t n;                       /* at most HR_COLUMNS_MAX */
};

/* n groups in lines of at most `width` characters; 0: any number. What there is no room for is
 * named below. Returns the columns that were printed, a bit each. */
uint32_t hr_columns_print(FILE *out, const struct hr_columns *columns,
                          const struct hr_run_group *const *groups, size_t n, size_t width);

#endif
