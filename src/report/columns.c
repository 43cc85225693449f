#include "report/columns.h"

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

/* The last column is not padded. */
static void print_cell(FILE *out, size_t number, const char *text, size_t width)
{
    const int pad = (int)(width - width_of(text));
    if (number == 0)
        fprintf(out, "%s%*s", text, pad, "");
    else
        fprintf(out, "  %*s%s", pad, "", text);
}

void hr_columns_print(FILE *out, const struct hr_column *columns, size_t ncolumns,
                      const struct hr_run_group *const *groups, size_t n)
{
    char cell[HR_CELL_MAX];
    size_t widths[HR_COLUMNS_MAX];
    HR_ASSERT(ncolumns <= HR_COLUMNS_MAX);
    for (size_t c = 0; c < ncolumns; c++)
        widths[c] = column_width(&columns[c], groups, n);
    for (size_t c = 0; c < ncolumns; c++)
        print_cell(out, c, columns[c].over, widths[c]);
    fputc('\n', out);
    for (size_t c = 0; c < ncolumns; c++)
        print_cell(out, c, columns[c].head, widths[c]);
    fputc('\n', out);
    for (size_t g = 0; g < n; g++) {
        for (size_t c = 0; c < ncolumns; c++) {
            columns[c].cell(groups[g], cell);
            print_cell(out, c, cell, widths[c]);
        }
        fputc('\n', out);
    }
}
