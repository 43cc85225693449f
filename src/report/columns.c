#include "report/columns.h"

#include <math.h>

#include "terminal/style.h"

/* Characters on screen: bytes of UTF-8 that do not continue one. */
static size_t width_of(const char *text)
{
    size_t width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static size_t column_width(const struct hr_column *column, const struct hr_run_group *const *groups,
                           size_t n)
{
    char cell[HR_CELL_MAX];
    size_t width = width_of(column->head);
    if (width_of(column->over) > width)
        width = width_of(column->over);
    for (size_t g = 0; g < n; g++) {
        column->cell(groups[g], cell);
        width = width_of(cell) > width ? width_of(cell) : width;
    }
    return width;
}

/* The last column is not padded; what is best has colour. */
static void print_cell(FILE *out, size_t number, const char *text, size_t width, bool best)
{
    const char *on = best ? hr_style(out, HR_GOOD) : "", *off = best ? hr_style(out, HR_PLAIN) : "";
    const int pad = (int)(width - width_of(text));
    if (number == 0)
        fprintf(out, "%s%s%s%*s", on, text, off, pad, "");
    else
        fprintf(out, "  %*s%s%s%s", pad, "", on, text, off);
}

struct layout {
    size_t width[HR_COLUMNS_MAX];
    const struct hr_run_group *best[HR_COLUMNS_MAX];
    bool shown[HR_COLUMNS_MAX];
};

static size_t line_of(const struct layout *layout, size_t n)
{
    size_t width = 0;
    for (size_t c = 0; c < n; c++)
        width += layout->shown[c] ? layout->width[c] + (c > 0 ? 2 : 0) : 0;
    return width;
}

/* Leave the most expendable out, of several the last; false: none is. */
static bool leave_out(const struct hr_columns *columns, struct layout *layout)
{
    size_t most = columns->n;
    for (size_t c = 0; c < columns->n; c++)
        if (layout->shown[c] && columns->column[c].expendable > 0 &&
            (most == columns->n ||
             columns->column[c].expendable >= columns->column[most].expendable))
            most = c;
    if (most < columns->n)
        layout->shown[most] = false;
    return most < columns->n;
}

/* "not shown, for want of room: train loss, lr (--wide)" */
static void name_left_out(FILE *out, const struct hr_columns *columns, const struct layout *layout)
{
    const char *before = "not shown, for want of room: ";
    for (size_t c = 0; c < columns->n; c++) {
        const struct hr_column *column = &columns->column[c];
        if (layout->shown[c])
            continue;
        fprintf(out, "%s%s%s%s", before, column->over, column->over[0] ? " " : "", column->head);
        before = ", ";
    }
    if (before[0] == ',')
        fputs(" (--wide)\n", out);
}

typedef const char *(*text_fn)(const struct hr_column *column, const struct hr_run_group *group,
                               char *cell);

static const char *over_of(const struct hr_column *column, const struct hr_run_group *group,
                           char *cell)
{
    (void)group, (void)cell;
    return column->over;
}

static const char *head_of(const struct hr_column *column, const struct hr_run_group *group,
                           char *cell)
{
    (void)group, (void)cell;
    return column->head;
}

static const char *cell_of(const struct hr_column *column, const struct hr_run_group *group,
                           char *cell)
{
    column->cell(group, cell);
    return cell;
}

static void print_line(FILE *out, const struct hr_columns *columns, const struct layout *layout,
                       text_fn text, const struct hr_run_group *group)
{
    char cell[HR_CELL_MAX];
    for (size_t c = 0; c < columns->n; c++)
        if (layout->shown[c])
            print_cell(out, c, text(&columns->column[c], group, cell), layout->width[c],
                       group && group == layout->best[c]);
    fputc('\n', out);
}

/* The only one that has the best mean. */
static const struct hr_run_group *best_of(const struct hr_column *column,
                                          const struct hr_run_group *const *groups, size_t n)
{
    const struct hr_run_group *best = NULL;
    double most = -INFINITY;
    for (size_t g = 0; column->measure && n > 1 && g < n; g++) {
        const double mean = hr_run_group_spread(groups[g], column->measure).mean;
        const double value = column->less ? -mean : mean;
        if (!isfinite(value) || value < most)
            continue;
        best = value > most ? groups[g] : NULL;
        most = value;
    }
    return best;
}

uint32_t hr_columns_print(FILE *out, const struct hr_columns *columns,
                          const struct hr_run_group *const *groups, size_t n, size_t width)
{
    struct layout layout = {0};
    uint32_t printed = 0;
    HR_ASSERT(columns->n <= HR_COLUMNS_MAX);
    for (size_t c = 0; c < columns->n; c++) {
        layout.width[c] = column_width(&columns->column[c], groups, n);
        layout.shown[c] = true;
        layout.best[c] = best_of(&columns->column[c], groups, n);
    }
    while (width && line_of(&layout, columns->n) > width && leave_out(columns, &layout))
        ;
    print_line(out, columns, &layout, over_of, NULL);
    print_line(out, columns, &layout, head_of, NULL);
    for (size_t g = 0; g < n; g++)
        print_line(out, columns, &layout, cell_of, groups[g]);
    name_left_out(out, columns, &layout);
    for (size_t c = 0; c < columns->n; c++)
        printed |= (uint32_t)layout.shown[c] << c;
    return printed;
}
