/* First the limit: the least that the costliest run can cost, by halving, where filling run after
 * run up to a limit tells whether the parts suffice. Then dynamic programming over (runs, pieces)
 * for the least sum of squares among the cuts that keep to it. */
#include "pipeline/cut.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

static bool suffices(const int64_t *cost, size_t n, size_t parts, int64_t limit)
{
    size_t runs = 1;
    int64_t run = 0;
    for (size_t i = 0; i < n; i++) {
        if (cost[i] > limit)
            return false;
        if (run + cost[i] > limit) {
            runs++;
            run = 0;
        }
        run += cost[i];
    }
    return runs <= parts; /* fewer can be cut further: there are pieces enough */
}

static int64_t least_limit(const int64_t *cost, size_t n, size_t parts)
{
    int64_t low = 0, high = 0; /* high suffices */
    for (size_t i = 0; i < n; i++)
        high += cost[i];
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (suffices(cost, n, parts, middle))
            high = middle;
        else
            low = middle + 1;
    }
    return high;
}

/* The best of p runs of the first i pieces: its squares, and where the last run begins. */
struct best {
    double squares;
    size_t last;
};

static struct best best_last_run(const int64_t *cost, size_t i, int64_t limit,
                                 const struct best *fewer)
{
    struct best best = {.squares = INFINITY};
    int64_t run = 0;
    for (size_t j = i; j-- > 0;) {
        run += cost[j];
        if (run > limit)
            break;
        const double squares = fewer[j].squares + (double)run * (double)run;
        if (squares < best.squares)
            best = (struct best){squares, j};
    }
    return best;
}

enum hr_status hr_pipeline_cut(const int64_t *cost, size_t n, size_t parts, size_t *first)
{
    const size_t row = n + 1;
    if (parts < 1 || parts > n)
        return hr_fail(HR_E_USAGE, "%zu pieces in %zu parts: expected 1 to %zu parts", n, parts, n);
    struct best *best = calloc((parts + 1) * row, sizeof *best);
    if (!best)
        return hr_fail(HR_E_NOMEM, "no memory to cut %zu pieces in %zu parts", n, parts);
    const int64_t limit = least_limit(cost, n, parts);
    for (size_t i = 1; i <= n; i++)
        best[i].squares = INFINITY;
    for (size_t p = 1; p <= parts; p++) {
        best[p * row].squares = INFINITY;
        for (size_t i = 1; i <= n; i++)
            best[p * row + i] = best_last_run(cost, i, limit, &best[(p - 1) * row]);
    }
    first[parts] = n;
    for (size_t p = parts; p > 0; p--)
        first[p - 1] = best[p * row + first[p]].last;
    free(best);
    return HR_OK;
}
