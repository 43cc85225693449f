#include "stats/holm.h"

#include <math.h>
#include <stdlib.h>

static int by_p(const void *x, const void *y)
{
    const struct hr_comparison *a = x, *b = y;
    return (a->p > b->p) - (a->p < b->p);
}

void hr_holm_adjust_of(struct hr_comparison *comparisons, size_t n, size_t wrong)
{
    double least = 0; /* an adjusted p is never below that of a smaller p */
    if (n > 0)
        qsort(comparisons, n, sizeof *comparisons, by_p);
    for (size_t i = 0; i < n; i++) {
        const size_t factor = n - i < wrong ? n - i : wrong;
        least = fmax(least, fmin(1, comparisons[i].p * (double)factor));
        comparisons[i].p = least;
    }
}

void hr_holm_adjust(struct hr_comparison *comparisons, size_t n)
{
    hr_holm_adjust_of(comparisons, n, n);
}
