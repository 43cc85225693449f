/* Scores, seed by seed, in the order in which seeds come first. */
#include "verdict/orders.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The first run of run i's seed. */
static size_t first_of_seed(const struct hr_run_group *group, size_t i)
{
    size_t k = 0;
    while (group->run[k]->seed != group->run[i]->seed)
        k++;
    return k;
}

/* The finite scores of the seed that run `first` opens. */
static size_t list_scores(const struct hr_run_group *group, enum hr_metric metric, size_t first,
                          double *values)
{
    size_t n = 0;
    for (size_t i = first; i < group->n; i++) {
        const double score = hr_metric_of_test(metric, group->run[i]);
        if (group->run[i]->seed == group->run[first]->seed && isfinite(score))
            values[n++] = score;
    }
    return n;
}

static bool all_same(const struct hr_run_group *group)
{
    bool same = true;
    for (size_t i = 0; i < group->n; i++)
        same &= group->run[i]->weights_digest[0] &&
                !strcmp(group->run[i]->weights_digest,
                        group->run[first_of_seed(group, i)]->weights_digest);
    return same;
}

bool hr_run_group_orders(const struct hr_run_group *group, enum hr_metric metric,
                         struct hr_orders *orders)
{
    double *values = calloc(group->n + 1, sizeof *values);
    size_t *count = calloc(group->n + 1, sizeof *count);
    size_t n = 0, seeds = 0;
    for (size_t i = 0; values && count && i < group->n; i++)
        if (first_of_seed(group, i) == i) {
            count[seeds] = list_scores(group, metric, i, values + n);
            n += count[seeds++];
        }
    orders->score = hr_components_of(values, count, seeds);
    orders->same = all_same(group);
    free(values);
    free(count);
    return seeds > 0 && group->n > seeds;
}
