#include "netsim/laws.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "netsim/walk.h"

/* Seconds are `factor` N / B. */
struct law {
    const char *algorithm, *formula;
    double (*factor)(double workers, double others);
};

static double through_one(double workers, double others)
{
    (void)workers;
    return 2 * others;
}

static double in_parts(double workers, double others)
{
    (void)others;
    return 2 * (workers - 1) / workers;
}

static double in_parts_both_ways(double workers, double others)
{
    return in_parts(workers, others) / 2;
}

static double up_a_tree(double workers, double others)
{
    (void)others;
    return log2(workers);
}

static const struct law laws[] = {
    {"master-worker", "2 (P - 1) N / B", through_one},
    {"direct", "2 (N / P) (P - 1) / B", in_parts},
    {"ring", "2 (N / P) (P - 1) / B", in_parts},
    {"bidirectional-ring", "(N / P) (P - 1) / B", in_parts_both_ways},
    {"tree", "log2(P) N / B", up_a_tree},
};

static const struct law *find(const char *algorithm)
{
    for (size_t i = 0; i < sizeof laws / sizeof *laws; i++)
        if (!strcmp(laws[i].algorithm, algorithm))
            return &laws[i];
    return NULL;
}

const char *hr_law_formula(const char *algorithm)
{
    const struct law *law = find(algorithm);
    return law ? law->formula : NULL;
}

double hr_law_seconds(const char *algorithm, size_t workers, size_t others, double bytes,
                      double bandwidth)
{
    const struct law *law = find(algorithm);
    return law ? law->factor((double)workers, (double)others) * bytes / bandwidth : NAN;
}

/* --- parameter server --- */

static enum hr_status worker(struct hr_plan *plan, const struct hr_plan_for *of)
{
    const size_t workers = of->root, servers = of->n - workers;
    for (size_t k = 0; k < servers; k++) { /* each begins with another server */
        const size_t part = (of->rank + k) % servers;
        HR_TRY(hr_plan_send(plan, 0, HR_IN, workers + part, part));
    }
    for (size_t k = 0; k < servers; k++) {
        const size_t part = (of->rank + k) % servers;
        HR_TRY(hr_plan_receive(plan, 1, HR_ROW_COPY, workers + part, part));
    }
    return HR_OK;
}

/* One round of a parameter server: the `root` first ranks are workers, which push part j of the
 * data to server j, who adds and has everybody pull; the other ranks are servers. */
static enum hr_status plan_server_round(struct hr_plan *plan, const struct hr_plan_for *of)
{
    const size_t workers = of->root, part = of->rank - workers;
    plan->nchunks = of->n - workers;
    if (of->rank < workers)
        return worker(plan, of);
    for (size_t w = 0; w < workers; w++)
        HR_TRY(hr_plan_receive(plan, 0, HR_ROW_RECV, w, part));
    HR_TRY(hr_plan_local(plan, 0, HR_ROW_SUM, HR_OUT, part));
    for (size_t k = 0; k < workers; k++)
        HR_TRY(hr_plan_send(plan, 1, HR_OUT, (part + k) % workers, part));
    return HR_OK;
}

enum hr_status hr_law_server_round(size_t workers, size_t servers, uint64_t bytes,
                                   const struct hr_link *link, int64_t *ps)
{
    struct hr_topology star = {0};
    struct hr_walk walk = {0};
    enum hr_status status;
    char what[32];
    snprintf(what, sizeof what, "star:%zu", workers + servers);
    HR_TRY_GOTO(hr_topology_open(what, link, &star), status, out);
    const struct hr_walk_options options = {.topology = &star,
                                            .node = star.rank_node,
                                            .n = workers + servers,
                                            .plan = plan_server_round,
                                            .root = workers,
                                            .bytes = bytes};
    HR_TRY_GOTO(hr_walk(&options, &walk), status, out);
    *ps = walk.ps;
out:
    hr_walk_fini(&walk);
    hr_topology_fini(&star);
    return status;
}

double hr_law_slope(const double *x, const double *y, size_t n)
{
    double mean_x = 0, mean_y = 0, xy = 0, xx = 0;
    for (size_t i = 0; i < n; i++) {
        mean_x += x[i] / (double)n;
        mean_y += y[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        xy += (x[i] - mean_x) * (y[i] - mean_y);
        xx += (x[i] - mean_x) * (x[i] - mean_x);
    }
    return xy / xx;
}
