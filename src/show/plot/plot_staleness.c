#include "plot/plot_staleness.h"

#include "train/histogram.h"

enum { BUCKETS = HR_RESULT_STALENESS_BUCKETS, BINS = 40 };

static bool is_stale(const struct hr_run_group *group)
{
    for (size_t i = 0; i < group->n; i++)
        if (group->run[i]->stale_max > 0)
            return true;
    return false;
}

bool hr_plot_has_staleness(const struct hr_groups *groups)
{
    for (size_t g = 0; g < groups->n; g++)
        if (is_stale(&groups->group[g]))
            return true;
    return false;
}

/* counts (BUCKETS) += those of the group's runs. */
static void add_counts(const struct hr_run_group *group, uint64_t *counts)
{
    for (size_t i = 0; i < group->n; i++)
        for (size_t bucket = 0; bucket < BUCKETS; bucket++)
            counts[bucket] += group->run[i]->stale[bucket];
}

/* Where the axis ends: a few very stale updates in ten thousand must not press all others to the
 * left. */
static size_t last_shown(const struct hr_groups *groups)
{
    size_t last = 1;
    for (size_t g = 0; g < groups->n; g++) {
        uint64_t counts[BUCKETS] = {0};
        add_counts(&groups->group[g], counts);
        const size_t quantile = hr_histogram_quantile(counts, BUCKETS, 0.9995);
        last = quantile > last ? quantile : last;
    }
    return last;
}

static size_t bin_width(const struct hr_groups *groups)
{
    return last_shown(groups) / BINS + 1;
}

/* Rows of a bin's middle and its share in percent; an empty bin interrupts the line. */
static void write_shares(FILE *out, const struct hr_run_group *group, size_t width, size_t last)
{
    uint64_t counts[BUCKETS] = {0}, total = 0;
    add_counts(group, counts);
    for (size_t bucket = 0; bucket < BUCKETS; bucket++)
        total += counts[bucket];
    for (size_t first = 0; first <= last; first += width) {
        uint64_t sum = 0;
        for (size_t bucket = first; bucket < first + width && bucket < BUCKETS; bucket++)
            sum += counts[bucket];
        if (sum > 0)
            fprintf(out, "%.6g %.6g\n", (double)first + (double)(width - 1) / 2,
                    100 * (double)sum / (double)total);
        else
            fputc('\n', out);
    }
}

/* A row of rank and mean, over all its updates. */
static void write_worker(FILE *out, const struct hr_run_group *group, size_t rank)
{
    double updates = 0, sum = 0;
    for (size_t i = 0; i < group->n; i++)
        if (rank < group->run[i]->nstale_workers) {
            updates += (double)group->run[i]->stale_parts[rank].updates;
            sum += (double)group->run[i]->stale_parts[rank].sum;
        }
    if (updates > 0)
        fprintf(out, "%zu %.6g\n", rank, sum / updates);
}

void hr_plot_staleness_data(FILE *out, const struct hr_groups *groups)
{
    const size_t width = bin_width(groups), last = last_shown(groups);
    for (size_t g = 0; g < groups->n; g++) {
        if (!is_stale(&groups->group[g]))
            continue;
        fprintf(out, "$stale%zu << END\n", g);
        write_shares(out, &groups->group[g], width, last);
        fprintf(out, "END\n$worker%zu << END\n", g);
        for (size_t rank = 0; rank < groups->group[g].run[0]->nstale_workers; rank++)
            write_worker(out, &groups->group[g], rank);
        fputs("END\n", out);
    }
}

/* Say in the panel, at the bottom left, how much lies beyond the axis; nothing if all is shown. */
static void write_rest(FILE *out, const struct hr_groups *groups, size_t width, size_t last)
{
    uint64_t all = 0, beyond = 0, most = 0;
    const size_t end = (last / width + 1) * width; /* of the last bin */
    for (size_t g = 0; g < groups->n; g++) {
        const struct hr_run_group *group = &groups->group[g];
        uint64_t counts[BUCKETS] = {0};
        add_counts(group, counts);
        for (size_t bucket = 0; is_stale(group) && bucket < BUCKETS; bucket++) {
            all += counts[bucket];
            beyond += bucket < end ? 0 : counts[bucket];
        }
        for (size_t i = 0; i < group->n; i++)
            most = group->run[i]->stale_max > most ? group->run[i]->stale_max : most;
    }
    if (beyond > 0)
        fprintf(out,
                "set label 1 '%.2g %% of updates are beyond, up to %llu' at graph 0.02, 0.06 "
                "left\n",
                100 * (double)beyond / (double)all, (unsigned long long)most);
}

void hr_plot_staleness_shares(FILE *out, const struct hr_groups *groups)
{
    const size_t width = bin_width(groups), last = last_shown(groups);
    const char *before = "plot";
    fprintf(out, "set xrange [-0.5:%zu.5]; set yrange [*:130]; set logscale y\n", last);
    fputs("set xlabel 'staleness: updates of others since the read'\n", out);
    write_rest(out, groups, width, last);
    if (width > 1)
        fprintf(out, "set ylabel 'share of updates (%%, bins of %zu)'\n", width);
    else
        fputs("set ylabel 'share of updates (%)'\n", out);
    for (size_t g = 0; g < groups->n; g++)
        if (is_stale(&groups->group[g])) {
            fprintf(out, "%s $stale%zu using 1:2 with linespoints ls %zu pi 1", before, g, g + 1);
            before = ", \\\n ";
        }
    fputs("\nunset logscale y\nunset label 1\n", out);
}

static size_t most_workers(const struct hr_groups *groups)
{
    size_t most = 1;
    for (size_t g = 0; g < groups->n; g++)
        if (groups->group[g].run[0]->nstale_workers > most)
            most = groups->group[g].run[0]->nstale_workers;
    return most;
}

void hr_plot_staleness_workers(FILE *out, const struct hr_groups *groups)
{
    const char *before = "plot";
    const size_t workers = most_workers(groups);
    fprintf(out, "set xrange [-0.5:%zu.5]; set yrange [0:*]; set xtics %zu\n", workers - 1,
            (workers + 11) / 12);
    fputs("set xlabel 'worker'\nset ylabel 'mean staleness of its updates'\n", out);
    for (size_t g = 0; g < groups->n; g++)
        if (is_stale(&groups->group[g])) {
            fprintf(out, "%s $worker%zu using 1:2 with linespoints ls %zu pi %zu", before, g, g + 1,
                    workers / 24 + 1);
            before = ", \\\n ";
        }
    fputs("\nset xtics auto\n", out);
}
