#include "report/asynchrony.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/columns.h"
#include "report/human.h"
#include "train/histogram.h"

/* --- measures */

static double mean_of(const struct hr_run_group *group, hr_measure_fn measure)
{
    return hr_run_group_spread(group, measure).mean;
}

static double effective_lr(const struct hr_run_result *run)
{
    return run->asynchrony.effective_lr;
}

/* Computed from the mean staleness in the table, as the legend says; the mean of the runs' own
 * predictions would differ. NaN when workers do not push gradients. */
static double implicit_momentum(const struct hr_run_group *group)
{
    const double in_flight = 1 + mean_of(group, hr_measure_stale_mean);
    return isfinite(mean_of(group, effective_lr)) ? 1 - 1 / in_flight : (double)NAN;
}

/* Did the run use --staleness-lr inverse? */
static bool is_inverse(const struct hr_run_group *group)
{
    return strstr(group->run[0]->manner, "lr / (1 + staleness)") != NULL;
}

/* --- cells */

static void cell_label(const struct hr_run_group *group, char *cell)
{
    snprintf(cell, HR_CELL_MAX, "%s", group->label);
}

static void cell_mean(const struct hr_run_group *group, char *cell)
{
    snprintf(cell, HR_CELL_MAX, "%.2f", mean_of(group, hr_measure_stale_mean));
}

/* A quantile over the updates of all runs of the group; ">=" when it is in the last bucket. */
static void write_quantile(const struct hr_run_group *group, double q, char *text, size_t size)
{
    const size_t last = HR_RESULT_STALENESS_BUCKETS - 1;
    uint64_t *sum = calloc(last + 1, sizeof *sum);
    for (size_t i = 0; sum && i < group->n; i++)
        for (size_t bucket = 0; bucket <= last; bucket++)
            sum[bucket] += group->run[i]->stale[bucket];
    const size_t value = sum ? hr_histogram_quantile(sum, last + 1, q) : 0;
    snprintf(text, size, "%s%zu", value == last ? ">=" : "", value);
    free(sum);
}

static void cell_quantiles(const struct hr_run_group *group, char *cell)
{
    char p50[32], p99[32];
    uint64_t most = 0;
    for (size_t i = 0; i < group->n; i++)
        most = group->run[i]->stale_max > most ? group->run[i]->stale_max : most;
    write_quantile(group, 0.5, p50, sizeof p50);
    write_quantile(group, 0.99, p99, sizeof p99);
    snprintf(cell, HR_CELL_MAX, "%s/%s/%" PRIu64, p50, p99, most);
}

/* The worker whose updates were the stalest, by their mean, in any run. */
static void cell_worst(const struct hr_run_group *group, char *cell)
{
    double most = -1;
    snprintf(cell, HR_CELL_MAX, "-");
    for (size_t i = 0; i < group->n; i++)
        for (size_t w = 0; w < group->run[i]->nstale_workers; w++) {
            const struct hr_staleness *part = &group->run[i]->stale_parts[w];
            const double mean = (double)part->sum / (double)part->updates;
            if (!(mean > most)) /* also skips NaN: no updates */
                continue;
            most = mean;
            snprintf(cell, HR_CELL_MAX, "%zu: %.2f", w, mean);
        }
}

static void cell_step(const struct hr_run_group *group, char *cell)
{
    const double step = mean_of(group, effective_lr);
    if (isfinite(step))
        snprintf(cell, HR_CELL_MAX, "%.3g", step);
    else
        snprintf(cell, HR_CELL_MAX, "-"); /* workers do not push gradients */
}

static void cell_momentum(const struct hr_run_group *group, char *cell)
{
    const double set = group->run[0]->asynchrony.explicit_momentum;
    const double implicit = implicit_momentum(group);
    if (isfinite(implicit))
        snprintf(cell, HR_CELL_MAX, "%.2f/%.2f/%.3f", set, implicit,
                 1 - (1 - set) * (1 - implicit));
    else
        snprintf(cell, HR_CELL_MAX, "-");
}

static void cell_lost(const struct hr_run_group *group, char *cell)
{
    struct hr_lost_share sum = {0};
    for (size_t i = 0; i < group->n; i++)
        sum = hr_lost_share_with(sum, group->run[i]);
    if (sum.lines == 0)
        snprintf(cell, HR_CELL_MAX, "-");
    else
        snprintf(cell, HR_CELL_MAX, "%.2g [%.2g, %.2g]", 100 * sum.fraction, 100 * sum.low,
                 100 * sum.high);
}

static const struct hr_column columns[] = {
    {"", "strategy", cell_label, 0, NULL, false},
    {"staleness", "mean", cell_mean, 7, NULL, false},
    {"staleness", "p50/p99/max", cell_quantiles, 1, NULL, false},
    {"stalest", "worker", cell_worst, 6, NULL, false},
    {"effective", "lr", cell_step, 5, NULL, false},
    {"momentum", "set/implicit/total", cell_momentum, 4, NULL, false},
    {"lost", "updates %", cell_lost, 3, NULL, false}, /* last: left out when nobody sampled */
};

enum { NCOLUMNS = sizeof columns / sizeof *columns };

static bool was_stale(const struct hr_run_group *group)
{
    for (size_t i = 0; i < group->n; i++)
        if (group->run[i]->stale_max > 0)
            return true;
    return false;
}

static bool was_watched(const struct hr_run_group *group)
{
    return group->run[0]->watched_lines > 0;
}

void hr_asynchrony_print(FILE *out, const struct hr_groups *groups, size_t width)
{
    const struct hr_run_group **rows = calloc(groups->n + 1, sizeof *rows);
    size_t n = 0;
    bool lost = false, inverse = false;
    for (size_t g = 0; rows && g < groups->n; g++)
        if (was_stale(&groups->group[g])) {
            rows[n++] = &groups->group[g];
            lost |= was_watched(&groups->group[g]);
            inverse |= is_inverse(&groups->group[g]);
        }
    if (n > 0) {
        fputc('\n', out);
        hr_columns_print(out, &(struct hr_columns){columns, lost ? NCOLUMNS : NCOLUMNS - 1}, rows,
                         n, width);
        fprintf(out,
                "effective lr: lr x (1 + mean staleness)%s; implicit momentum: predicted, "
                "1 - 1 / (1 + mean staleness)\n",
                inverse ? ", under lr / (1 + staleness) times its mean share" : "");
    }
    if (lost)
        fputs(
            "lost updates: weights written over another's update; sampled, with a 95 % interval\n",
            out);
    free(rows);
}
