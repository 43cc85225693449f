/* grid.h - text in columns: cells are lines with tabs between them, and come out as wide as the
 * widest of a column, two blanks between.
 *
 *     struct hr_grid table;
 *     hr_grid_begin(&table, "-strategy\tseeds\t-why");
 *     fprintf(table.cells, "%s\t%zu\t%s\n", label, n, why);
 *     hr_grid_end(&table, out, width);
 *
 *   Heads     a - before it: words, which stand left; numbers stand right. A newline in it makes
 *             the header two lines. Blanks at its end make the column as wide.
 *             Where all are empty there is no header
 *   Cells     strangers' text goes through hr_printable, which has no tabs
 *   Empty     a column of which no cell says anything is left out, head and all
 *   Text      a line without a tab stands as it is, and moves no column
 *   Yields    a mark of hr_yields at the beginning of a row stays there
 *   Room      where lines are wider than `width` the most expendable columns go, and are named
 *
 * Rows that come one by one, minutes apart, are shown as they come (hr_grid_flush): columns are
 * then as wide as their heads, or as the widest so far.
 *
 * Threads: none. Test: tests/unit/terminal/test_grid.c */
#ifndef HR_TERMINAL_GRID_H
#define HR_TERMINAL_GRID_H

#include "terminal/output.h"

enum { HR_GRID_COLUMNS = 64 };

struct hr_grid_column {
    char head[64];
    bool left, said;      /* some cell says something */
    size_t most;          /* wider cells are cut; 0: none is */
    struct hr_fitted fit; /* expendable is the caller's */
};

struct hr_grid {
    FILE *cells;
    const char *also, *cure; /* beside columns that are hidden, and behind them; NULL: nothing */
    size_t n;
    struct hr_grid_column column[HR_GRID_COLUMNS];
    char *text; /* owned */
    size_t bytes, shown;
    bool begun; /* heads are shown */
};

void hr_grid_begin(struct hr_grid *table, const char *heads);
/* One column more, before the first row. */
struct hr_grid_column *hr_grid_add(struct hr_grid *table, const char *head);
/* Show what has come. */
void hr_grid_flush(struct hr_grid *table, FILE *out);
/* Columns that it takes so far. */
size_t hr_grid_width(struct hr_grid *table);
/* Cut cells of column c where lines are wider than `width`, to 8 columns at least. */
void hr_grid_squeeze(struct hr_grid *table, size_t c, size_t width);
/* Show what has come in at most `width` columns (0: any), and free it; out NULL: free it alone.
 * Which columns were shown can be looked at afterwards, but their heads cannot. */
void hr_grid_end(struct hr_grid *table, FILE *out, size_t width);

#endif
