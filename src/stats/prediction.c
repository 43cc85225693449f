#include "stats/prediction.h"

#include <math.h>

#include "stats/student.h"

/* mean +- t sd root, t having (1 - share) / (2 tests) above it. */
static struct hr_interval around(const struct hr_spread *seen, double share, double tests,
                                 double root)
{
    if (seen->n < 2)
        return (struct hr_interval){-INFINITY, INFINITY};
    const double t = -hr_student_quantile((1 - share) / (2 * tests), (double)seen->n - 1);
    const double half = t * seen->sd * root;
    return (struct hr_interval){seen->mean - half, seen->mean + half};
}

struct hr_interval hr_predict_mean(const struct hr_spread *seen, size_t k, double share)
{
    return around(seen, share, 1, sqrt(1 / (double)k + 1 / (double)seen->n));
}

struct hr_interval hr_predict_each(const struct hr_spread *seen, size_t k, double share)
{
    return around(seen, share, (double)k, sqrt(1 + 1 / (double)seen->n));
}
