#include "terminal/fit.h"

static size_t line_of(const struct hr_fitted *column, size_t n, size_t *shown)
{
    size_t width = 0;
    *shown = 0;
    for (size_t c = 0; c < n; c++)
        if (column[c].shown)
            width += column[c].width + ((*shown)++ ? 2 : 0);
    return width;
}

void hr_fit(struct hr_fitted *column, size_t n, size_t room)
{
    size_t most = 0, shown;
    while (room && most < n && line_of(column, n, &shown) > room && shown > 1) {
        most = n;
        for (size_t c = 0; c < n; c++)
            if (column[c].shown && column[c].expendable > 0 &&
                (most == n || column[c].expendable >= column[most].expendable))
                most = c;
        if (most < n)
            column[most].shown = false;
    }
}
