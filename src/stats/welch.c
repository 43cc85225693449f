#include "stats/welch.h"

#include <math.h>

#include "stats/student.h"

double hr_welch_p(const struct hr_spread *a, const struct hr_spread *b)
{
    if (a->n < 2 || b->n < 2)
        return 1;
    const double va = a->sd * a->sd / (double)a->n, vb = b->sd * b->sd / (double)b->n;
    const double variance = va + vb;
    if (!(variance > 0)) /* NaN too */
        return 1;
    const double t = (a->mean - b->mean) / sqrt(variance);
    const double df =
        variance * variance / (va * va / (double)(a->n - 1) + vb * vb / (double)(b->n - 1));
    return isfinite(df) ? hr_student_two_sided(t, df) : 1;
}
