/* First the limit: the least that the costliest run can cost, by halving, where filling run after
 * run up to a limit tells whether the parts suffice. Then dynamic programming over (runs, pieces)
 * for the least sum of squares among the cuts that keep to it.
 *
 * For ranks: from that cut on, one place after another is moved to where it is best, until none can
 * be; then branch and bound over all cuts, as far as the looks go. */
#include "pipeline/cut.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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

/* --- several runs a rank --- */

enum { LOOKS = 1000000 };

struct search {
    const int64_t *cost;
    size_t n, ranks, parts;
    size_t *first, *best; /* (parts + 1) at hand, and the best so far */
    int64_t *load;        /* (ranks) of the runs at hand, */
    double squares;       /* and the sum of the runs' squares */
    int64_t best_most;
    double best_squares;
    size_t looks; /* that are left */
};

static int64_t most_of(const struct search *search)
{
    int64_t most = 0;
    for (size_t r = 0; r < search->ranks; r++)
        most = search->load[r] > most ? search->load[r] : most;
    return most;
}

/* Are the runs at hand, all or the first ones, below the best? */
static bool is_below(const struct search *search)
{
    const int64_t most = most_of(search);
    return most < search->best_most ||
           (most == search->best_most && search->squares < search->best_squares);
}

static void keep_if_better(struct search *search)
{
    if (!is_below(search))
        return;
    search->best_most = most_of(search);
    search->best_squares = search->squares;
    memcpy(search->best, search->first, (search->parts + 1) * sizeof *search->best);
}

static void add_up(struct search *search)
{
    memset(search->load, 0, search->ranks * sizeof *search->load);
    search->squares = 0;
    for (size_t p = 0; p < search->parts; p++) {
        int64_t run = 0;
        for (size_t i = search->first[p]; i < search->first[p + 1]; i++)
            run += search->cost[i];
        search->load[p % search->ranks] += run;
        search->squares += (double)run * (double)run;
    }
}

/* One place moves, wherever that is best; false: none is better. */
static bool move_one(struct search *search)
{
    const int64_t most = search->best_most;
    const double squares = search->best_squares;
    for (size_t p = 1; p < search->parts; p++) {
        const size_t was = search->first[p];
        for (size_t at = search->first[p - 1] + 1; at < search->first[p + 1]; at++) {
            search->first[p] = at;
            add_up(search);
            keep_if_better(search);
        }
        search->first[p] = was;
    }
    memcpy(search->first, search->best, (search->parts + 1) * sizeof *search->best);
    return search->best_most < most || search->best_squares < squares;
}

/* All ends of run p and of those behind it that may be better. */
static void end_run(struct search *search, size_t p)
{
    int64_t *load = &search->load[p % search->ranks], run = 0;
    const int64_t load_before = *load;
    const double squares_before = search->squares;
    const bool last = p + 1 == search->parts;
    size_t end = search->first[p];
    while (search->looks && end + (search->parts - 1 - p) < search->n) {
        run += search->cost[end++];
        *load = load_before + run;
        search->squares = squares_before + (double)run * (double)run;
        search->looks--;
        if (!is_below(search))
            break;
        search->first[p + 1] = end;
        if (!last)
            end_run(search, p + 1);
        else if (end == search->n)
            keep_if_better(search);
    }
    *load = load_before;
    search->squares = squares_before;
}

enum hr_status hr_pipeline_cut_for_ranks(const int64_t *cost, size_t n, size_t ranks, size_t parts,
                                         size_t *first)
{
    struct search search = {.cost = cost,
                            .n = n,
                            .ranks = ranks,
                            .parts = parts,
                            .best_most = INT64_MAX,
                            .looks = LOOKS};
    HR_TRY(hr_pipeline_cut(cost, n, parts, first));
    if (ranks == parts || ranks == 1)
        return HR_OK;
    search.best = first;
    search.first = calloc(parts + 1, sizeof *search.first);
    search.load = calloc(ranks, sizeof *search.load);
    const bool enough = search.first && search.load;
    if (enough) {
        memcpy(search.first, first, (parts + 1) * sizeof *first);
        add_up(&search);
        keep_if_better(&search);
        while (move_one(&search))
            ;
        memset(search.load, 0, ranks * sizeof *search.load);
        search.squares = 0;
        end_run(&search, 0);
    }
    free(search.first);
    free(search.load);
    return enough ? HR_OK : hr_fail(HR_E_NOMEM, "no memory to cut %zu pieces", n);
}
