/* columns.h - a table of runs: one row a group, columns as wide as their widest cell, a header of
 * two lines. The first column is aligned left, the others right. */
#ifndef HR_REPORT_COLUMNS_H
#define HR_REPORT_COLUMNS_H

#include <stdio.h>

#include "report/groups.h"

enum { HR_CELL_MAX = 168, HR_COLUMNS_MAX = 20 };

/* A cell's text (HR_CELL_MAX). */
typedef void (*hr_cell_fn)(const struct hr_run_group *group, char *cell);

struct hr_column {
    const char *over, *head; /* the two lines of its header */
    hr_cell_fn cell;
};

/* ncolumns <= HR_COLUMNS_MAX columns of n groups. */
void hr_columns_print(FILE *out, const struct hr_column *columns, size_t ncolumns,
                      const struct hr_run_group *const *groups, size_t n);

#endif
