/* Tables of results: a row a group of runs, a header of two lines. One list of columns says what
 * there is to show, and in which tables: the brief one that ends a command, and of --details the
 * whole one and, below it, what asynchrony did. Columns are as wide as their widest cell; where a
 * terminal is narrow they go by how much a reader can do without them. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "report/details.h"
#include "report/groups.h"
#include "report/human.h"
#include "report/report.h"
#include "terminal/output.h"
#include "train/histogram.h"

enum { CELL_MAX = 168 };

/* Tables that a column is in. */
enum { BRIEF = 1, WHOLE = 2, ASYNCHRONY = 4 };

/* What runs must have, for a column to be shown. */
enum {
    CLASSES = 1,
    VALUES = 2,
    VALIDATION = 4,
    LEADS = 8, /* some worker was before another */
    DROPS = 16,
    RESENT = 32,
    TARGET = 64,
    NO_TARGET = 128,
    WATCHED = 256, /* updates that were lost were looked for */
};

struct table {
    const struct hr_groups *groups;
    double target; /* 0: none */
    size_t width;  /* of the terminal; 0: any */
    unsigned has;
};

/* --- cells: how well runs predict */

static void cell_accuracy(const struct hr_run_group *group, hr_measure_fn measure, char *cell)
{
    const struct hr_spread spread = hr_run_group_spread(group, measure);
    if (isfinite(spread.mean))
        hr_human_spread(cell, &spread, 100, 2);
    else
        snprintf(cell, CELL_MAX, "-"); /* it predicts values */
}

/* Targets have any size: their errors have four significant digits. */
static void cell_error(const struct hr_run_group *group, hr_measure_fn measure, char *cell)
{
    const struct hr_spread spread = hr_run_group_spread(group, measure);
    const double mean = fabs(spread.mean);
    const int digits = mean > 0 && isfinite(mean) ? (int)floor(log10(mean)) : 0;
    if (isfinite(mean))
        hr_human_spread(cell, &spread, 1, digits > 2 ? 1 : digits < -3 ? 6 : 3 - digits);
    else
        snprintf(cell, CELL_MAX, "-");
}

static void cell_loss(const struct hr_run_group *group, hr_measure_fn measure, char *cell)
{
    const struct hr_spread spread = hr_run_group_spread(group, measure);
    hr_human_spread(cell, &spread, 1, spread.n > 1 ? 3 : 4);
}

static void cell_r2(const struct hr_run_group *group, hr_measure_fn measure, char *cell)
{
    const struct hr_spread spread = hr_run_group_spread(group, measure);
    if (isfinite(spread.mean))
        hr_human_spread(cell, &spread, 1, 4);
    else
        snprintf(cell, CELL_MAX, "-");
}

/* The mean alone: there is no room for its spread. */
static void cell_mean_loss(const struct hr_run_group *group, hr_measure_fn measure, char *cell)
{
    struct hr_spread spread = hr_run_group_spread(group, measure);
    spread.n = 1;
    hr_human_spread(cell, &spread, 1, group->n > 1 ? 3 : 4);
}

static void cell_train_loss(const struct hr_run_group *group, hr_measure_fn measure, char *cell)
{
    cell_mean_loss(group, measure, cell);
    if (hr_run_group_rose(group))
        strcat(cell, "!"); /* there is room */
}

/* --- cells: what it took */

static void cell_label(const struct hr_run_group *group, hr_measure_fn measure, char *cell)
{
    (void)measure;
    snprintf(cell, CELL_MAX, "%s%s%s%s", group->label, hr_run_group_lost(group) ? "~" : "",
             group->interrupted ? "*" : "", hr_run_group_chance(group) ? "!" : "");
}

static void cell_seconds(const struct hr_run_group *group, hr_measure_fn measure, char *cell)
{
    hr_human_seconds(cell, hr_run_group_spread(group, measure).mean);
}

static void cell_rate(const struct hr_run_group *group, hr_measure_fn measure, char *cell)
{
    const struct hr_spread spread = hr_run_group_spread(group, measure);
    hr_human_short_spread(cell, &spread);
}

static void cell_updates(const struct hr_run_group *group, hr_measure_fn measure, char *cell)
{
    const double mean = hr_run_group_spread(group, measure).mean;
    if (mean < 99999.5)
        snprintf(cell, CELL_MAX, "%.0f", mean);
    else
        hr_human_short(cell, mean);
}

static void cell_lr(const struct hr_run_group *group, hr_measure_fn measure, char *cell)
{
    (void)measure;
    if (isfinite(group->run[0]->lr))
        snprintf(cell, CELL_MAX, "%.4g", group->run[0]->lr);
    else
        snprintf(cell, CELL_MAX, "-"); /* a solver that needs none */
}

static double stale_max(const struct hr_run_result *run)
{
    return (double)run->stale_max;
}

static double max_lead(const struct hr_run_result *run)
{
    return (double)run->max_skew;
}

static double dropped(const struct hr_run_result *run)
{
    return (double)run->dropped;
}

static double resent(const struct hr_run_result *run)
{
    return (double)run->resent;
}

static void cell_staleness(const struct hr_run_group *group, hr_measure_fn measure, char *cell)
{
    const double mean = hr_run_group_spread(group, measure).mean;
    if (isfinite(mean))
        snprintf(cell, CELL_MAX, "%.2f/%.0f", mean, hr_run_group_spread(group, stale_max).most);
    else
        snprintf(cell, CELL_MAX, "-");
}

static void cell_most(const struct hr_run_group *group, hr_measure_fn measure, char *cell)
{
    snprintf(cell, CELL_MAX, "%.0f", hr_run_group_spread(group, measure).most);
}

static void cell_mean(const struct hr_run_group *group, hr_measure_fn measure, char *cell)
{
    snprintf(cell, CELL_MAX, "%.4g", hr_run_group_spread(group, measure).mean);
}

/* Percent of the workers' time: loading, computing, communicating, waiting. */
static bool shares_of_time(const struct hr_run_group *group, double percent[4])
{
    double all = 0;
    memset(percent, 0, 4 * sizeof *percent);
    for (size_t i = 0; i < group->n; i++) {
        const struct hr_run_result *run = group->run[i];
        const double part[] = {run->load_s, run->compute_s, run->communicate_s, run->wait_s};
        for (size_t k = 0; k < 4; k++)
            percent[k] += part[k];
    }
    for (size_t k = 0; k < 4; k++)
        all += percent[k];
    for (size_t k = 0; k < 4; k++)
        percent[k] *= 100 / all;
    return all > 0;
}

static void cell_time(const struct hr_run_group *group, hr_measure_fn measure, char *cell)
{
    (void)measure;
    double p[4];
    if (shares_of_time(group, p))
        snprintf(cell, CELL_MAX, "%.0f/%.0f/%.0f/%.0f", p[0], p[1], p[2], p[3]);
    else
        snprintf(cell, CELL_MAX, "-");
}

static void cell_wait(const struct hr_run_group *group, hr_measure_fn measure, char *cell)
{
    (void)measure;
    double p[4];
    if (shares_of_time(group, p))
        snprintf(cell, CELL_MAX, "%.0f", p[3]);
    else
        snprintf(cell, CELL_MAX, "-");
}

static void cell_target(const struct hr_run_group *group, hr_measure_fn measure, char *cell)
{
    (void)measure;
    const struct hr_spread spread = hr_run_group_target(group);
    char seconds[HR_HUMAN_MAX];
    hr_human_seconds(seconds, spread.mean);
    if (spread.n == 0)
        snprintf(cell, CELL_MAX, "never");
    else if (spread.n < group->n)
        snprintf(cell, CELL_MAX, "%s (%zu of %zu)", seconds, spread.n, group->n);
    else
        snprintf(cell, CELL_MAX, "%s", seconds);
}

/* --- cells: what asynchrony did */

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

static void cell_stale_mean(const struct hr_run_group *group, hr_measure_fn measure, char *cell)
{
    snprintf(cell, CELL_MAX, "%.2f", mean_of(group, measure));
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

static void cell_quantiles(const struct hr_run_group *group, hr_measure_fn measure, char *cell)
{
    (void)measure;
    char p50[32], p99[32];
    uint64_t most = 0;
    for (size_t i = 0; i < group->n; i++)
        most = group->run[i]->stale_max > most ? group->run[i]->stale_max : most;
    write_quantile(group, 0.5, p50, sizeof p50);
    write_quantile(group, 0.99, p99, sizeof p99);
    snprintf(cell, CELL_MAX, "%s/%s/%" PRIu64, p50, p99, most);
}

/* The worker whose updates were the stalest, by their mean, in any run. */
static void cell_worst(const struct hr_run_group *group, hr_measure_fn measure, char *cell)
{
    (void)measure;
    double most = -1;
    snprintf(cell, CELL_MAX, "-");
    for (size_t i = 0; i < group->n; i++)
        for (size_t w = 0; w < group->run[i]->nstale_workers; w++) {
            const struct hr_staleness *part = &group->run[i]->stale_parts[w];
            const double mean = (double)part->sum / (double)part->updates;
            if (!(mean > most)) /* also skips NaN: no updates */
                continue;
            most = mean;
            snprintf(cell, CELL_MAX, "%zu: %.2f", w, mean);
        }
}

static void cell_step(const struct hr_run_group *group, hr_measure_fn measure, char *cell)
{
    const double step = mean_of(group, measure);
    if (isfinite(step))
        snprintf(cell, CELL_MAX, "%.3g", step);
    else
        snprintf(cell, CELL_MAX, "-"); /* workers do not push gradients */
}

static void cell_momentum(const struct hr_run_group *group, hr_measure_fn measure, char *cell)
{
    (void)measure;
    const double set = group->run[0]->asynchrony.explicit_momentum;
    const double implicit = implicit_momentum(group);
    if (isfinite(implicit))
        snprintf(cell, CELL_MAX, "%.2f/%.2f/%.3f", set, implicit, 1 - (1 - set) * (1 - implicit));
    else
        snprintf(cell, CELL_MAX, "-");
}

static void cell_lost(const struct hr_run_group *group, hr_measure_fn measure, char *cell)
{
    (void)measure;
    struct hr_lost_share sum = {0};
    for (size_t i = 0; i < group->n; i++)
        sum = hr_lost_share_with(sum, group->run[i]);
    if (sum.lines == 0)
        snprintf(cell, CELL_MAX, "-");
    else
        snprintf(cell, CELL_MAX, "%.2g [%.2g, %.2g]", 100 * sum.fraction, 100 * sum.low,
                 100 * sum.high);
}

/* --- columns */

typedef void (*cell_fn)(const struct hr_run_group *group, hr_measure_fn measure, char *cell);

struct column {
    const char *over, *head; /* the two lines of its header */
    cell_fn cell;
    hr_measure_fn measure; /* that the cell is of; NULL: of none, or of several */
    unsigned tables, needs;
    int expendable;      /* where there is no room, the most expendable goes first; 0: never */
    const char *meaning; /* a line below says it; NULL: it speaks for itself */
};

static const struct column columns[] = {
    {"", "strategy", cell_label, NULL, BRIEF | WHOLE | ASYNCHRONY, 0, 0, NULL},
    {"test", "accuracy %", cell_accuracy, hr_measure_accuracy, BRIEF | WHOLE, CLASSES, 0, NULL},
    {"test", "rmse", cell_error, hr_measure_rmse, BRIEF | WHOLE, VALUES, 0, NULL},
    {"test", "mae", cell_error, hr_measure_mae, WHOLE, VALUES, 5, NULL},
    {"test", "R2", cell_r2, hr_measure_r2, WHOLE, VALUES, 1, NULL},
    {"test", "loss", cell_mean_loss, hr_measure_test_loss, BRIEF, 0, 5, NULL},
    {"test", "loss", cell_loss, hr_measure_test_loss, WHOLE, 0, 1, NULL},
    {"valid.", "acc. %", cell_accuracy, hr_measure_validation_accuracy, WHOLE, VALIDATION | CLASSES,
     1, NULL},
    {"valid.", "rmse", cell_error, hr_measure_validation_rmse, WHOLE, VALIDATION | VALUES, 1, NULL},
    {"valid.", "loss", cell_loss, hr_measure_validation_loss, WHOLE, VALIDATION, 6, NULL},
    {"train", "loss", cell_train_loss, hr_measure_train_loss, WHOLE, 0, 8, NULL},
    {"seconds", "to target", cell_target, NULL, BRIEF, TARGET, 2, NULL},
    {"", "seconds", cell_seconds, hr_measure_seconds, BRIEF, NO_TARGET, 2, NULL},
    {"", "seconds", cell_seconds, hr_measure_seconds, WHOLE, 0, 2, NULL},
    {"", "samples/s", cell_rate, hr_measure_rate, WHOLE, 0, 3, NULL},
    {"", "updates", cell_updates, hr_measure_updates, BRIEF | WHOLE, 0, 9, NULL},
    {"", "lr", cell_lr, NULL, BRIEF | WHOLE, 0, 7, NULL},
    {"staleness", "mean/max", cell_staleness, hr_measure_stale_mean, BRIEF | WHOLE, 0, 6, NULL},
    {"wait", "%", cell_wait, NULL, BRIEF, 0, 8, NULL},
    {"max", "lead", cell_most, max_lead, WHOLE, LEADS, 8,
     "max lead between two workers, in updates"},
    {"gradients", "dropped", cell_mean, dropped, WHOLE, DROPS, 3, NULL},
    {"pushes", "resent", cell_mean, resent, WHOLE, RESENT, 8, NULL},
    {"time %", "load/compute/comm/wait", cell_time, NULL, WHOLE, 0, 4, NULL},
    {"seconds", "to target", cell_target, NULL, WHOLE, TARGET, 2, NULL},
    {"staleness", "mean", cell_stale_mean, hr_measure_stale_mean, ASYNCHRONY, 0, 7, NULL},
    {"staleness", "p50/p99/max", cell_quantiles, NULL, ASYNCHRONY, 0, 1, NULL},
    {"most stale", "worker", cell_worst, NULL, ASYNCHRONY, 0, 6, NULL},
    {"effective", "lr", cell_step, effective_lr, ASYNCHRONY, 0, 5,
     "effective lr: mean lr x (1 + mean staleness), with --staleness-lr inverse times its mean "
     "share"},
    {"momentum: configured", "/asynchrony/total", cell_momentum, NULL, ASYNCHRONY, 0, 4,
     "momentum from asynchrony: predicted, 1 - 1 / (1 + mean staleness)"},
    {"lost", "updates %", cell_lost, NULL, ASYNCHRONY, WATCHED, 3,
     "lost updates: weights overwritten by another's update; a sample, 95 % interval"},
};

enum { NCOLUMNS = sizeof columns / sizeof *columns };

/* --- layout */

struct layout {
    const struct table *table;
    const struct hr_run_group **rows; /* (nrows) */
    size_t nrows;
    bool wanted[NCOLUMNS];
    struct hr_fitted fit[NCOLUMNS];
};

static void lay_out(struct layout *layout, unsigned table)
{
    char cell[CELL_MAX];
    for (size_t c = 0; c < NCOLUMNS; c++) {
        const struct column *column = &columns[c];
        const size_t over = hr_style_columns(column->over), head = hr_style_columns(column->head);
        layout->wanted[c] = (column->tables & table) && !(column->needs & ~layout->table->has);
        layout->fit[c] =
            (struct hr_fitted){hr_max_size(over, head), column->expendable, layout->wanted[c]};
        for (size_t r = 0; layout->wanted[c] && r < layout->nrows; r++) {
            column->cell(layout->rows[r], column->measure, cell);
            const size_t width = hr_style_columns(cell);
            layout->fit[c].width = hr_max_size(width, layout->fit[c].width);
        }
    }
}

/* The first column is aligned left, the others right. */
static void print_cell(FILE *out, size_t c, const char *text, size_t width)
{
    const int pad = (int)(width - hr_style_columns(text));
    if (c == 0)
        fprintf(out, "%s%*s", text, pad, "");
    else
        fprintf(out, "  %*s%s", pad, "", text);
}

enum line { OVER, HEAD, CELLS };

static void print_line(FILE *out, const struct layout *layout, enum line line,
                       const struct hr_run_group *group)
{
    char cell[CELL_MAX];
    for (size_t c = 0; c < NCOLUMNS; c++) {
        if (!layout->fit[c].shown)
            continue;
        if (line == CELLS)
            columns[c].cell(group, columns[c].measure, cell);
        print_cell(out, c,
                   line == OVER   ? columns[c].over
                   : line == HEAD ? columns[c].head
                                  : cell,
                   layout->fit[c].width);
    }
    fputc('\n', out);
}

/* "hidden (terminal too narrow): train loss, lr; --wide shows all" */
static void name_left_out(FILE *out, const struct layout *layout)
{
    const char *before = "hidden (terminal too narrow): ";
    for (size_t c = 0; c < NCOLUMNS; c++) {
        if (!layout->wanted[c] || layout->fit[c].shown)
            continue;
        fprintf(out, "%s%s%s%s", before, columns[c].over, columns[c].over[0] ? " " : "",
                columns[c].head);
        before = ", ";
    }
    if (before[0] == ',')
        fputs("; --wide shows all\n", out);
}

static void print_columns(FILE *out, struct layout *layout, unsigned table)
{
    lay_out(layout, table);
    hr_fit(layout->fit, NCOLUMNS, layout->table->width);
    print_line(out, layout, OVER, NULL);
    print_line(out, layout, HEAD, NULL);
    for (size_t r = 0; r < layout->nrows; r++)
        print_line(out, layout, CELLS, layout->rows[r]);
    name_left_out(out, layout);
}

/* --- below */

static void print_seeds(FILE *out, const struct hr_groups *groups)
{
    size_t least = groups->most;
    for (size_t g = 0; g < groups->n; g++)
        least = groups->group[g].n < least ? groups->group[g].n : least;
    fprintf(out, "mean %s standard deviation of ", hr_human_utf8() ? "\xc2\xb1" : "+-");
    if (least < groups->most)
        fprintf(out, "%zu to ", least);
    fprintf(out, "%zu %s", groups->most, hr_run_group_unit(&groups->group[0]));
}

/* Which figures are of the whole training, and which of this run. */
static void print_past(FILE *out, const struct hr_run_group *group, const struct hr_run_result *run)
{
    char seconds[HR_HUMAN_MAX];
    if (!run->resumed)
        return;
    fprintf(out, "%s: resumed at step %llu; ", group->label, (unsigned long long)run->resumed_step);
    if (run->past_seconds > 0)
        fprintf(out,
                "seconds, samples/s, updates: whole training (this run: %s s, %llu); time, "
                "staleness: this run\n",
                hr_human_seconds(seconds, run->seconds), (unsigned long long)run->updates);
    else
        fputs("all figures are of this run: what came before is not known\n", out);
}

typedef bool (*advice_fn)(const struct hr_run_result *run, const char *name,
                          char text[HR_ADVICE_MAX]);

/* Of several seeds the first that needs it gives the advice; `count` do. */
static bool print_advice(FILE *out, const struct hr_run_group *group, advice_fn advise,
                         size_t count)
{
    char advice[HR_ADVICE_MAX];
    size_t i = 0;
    while (i < group->n && !advise(group->run[i], group->label, advice))
        i++;
    if (i == group->n)
        return false;
    fprintf(out, "! %s", advice);
    if (group->n > 1)
        fprintf(out, " (seed %llu; %zu of %zu %s)", (unsigned long long)group->run[i]->seed, count,
                group->n, hr_run_group_unit(group));
    fputc('\n', out);
    return true;
}

/* What to change first: of the brief table one row that needs it, of each kind. */
static void print_advices(FILE *out, const struct table *table, bool details)
{
    bool rising = false, chance = false;
    for (size_t g = 0; g < table->groups->n; g++) {
        const struct hr_run_group *group = &table->groups->group[g];
        if (details || !rising)
            rising |= print_advice(out, group, hr_advice_rising, hr_run_group_rose(group));
        if (details || !chance)
            chance |= print_advice(out, group, hr_advice_chance, hr_run_group_chance(group));
    }
}

/* What the table's words mean, in one line. */
static void print_legend(FILE *out, const struct layout *layout, bool target)
{
    const struct table *table = layout->table;
    const char *before = "";
    for (size_t c = 0; c < NCOLUMNS; c++)
        if (layout->fit[c].shown && columns[c].meaning) {
            fprintf(out, "%s%s", before, columns[c].meaning);
            before = "; ";
        }
    if (target && table->target > 0) {
        const enum hr_metric metric = hr_metric_of_run(table->groups->group[0].run[0]);
        fprintf(out, "%starget: %s %s%s", before, table->has & VALIDATION ? "validation" : "test",
                metric == HR_METRIC_ACCURACY ? "accuracy " : "",
                hr_target_text(metric, table->target).text);
        before = "; ";
    }
    for (size_t r = 0; target && r < layout->nrows; r++) {
        const struct hr_run_result *run = layout->rows[r]->run[0];
        char setup[64];
        snprintf(setup, sizeof setup, " %zuW%zuPS", run->workers, run->servers);
        if (!strstr(layout->rows[r]->label, setup))
            continue;
        fprintf(out, "%s%s: %zu workers, %zu servers", before, setup + 1, run->workers,
                run->servers);
        before = "; ";
        break;
    }
    if (target && table->groups->most > 1) {
        fputs(before, out);
        print_seeds(out, table->groups);
        before = "; ";
    }
    if (before[0])
        fputc('\n', out);
}

static void print_interrupted(FILE *out, const struct hr_groups *groups)
{
    bool interrupted = false;
    for (size_t g = 0; g < groups->n; g++)
        interrupted |= groups->group[g].interrupted;
    if (interrupted)
        fputs("* interrupted before its end\n", out);
}

static void print_notes(FILE *out, const struct table *table, bool details)
{
    const struct hr_groups *groups = table->groups;
    print_interrupted(out, groups);
    hr_lost_ranks_print(out, groups, details);
    if (details) {
        hr_waited_for_print(out, groups);
        hr_node_step_print(out, groups);
    }
    if (details || groups->n == 1)
        hr_best_print(out, groups);
    for (size_t g = 0; (details || groups->n == 1) && g < groups->n; g++)
        for (size_t i = 0; i < groups->group[g].n; i++)
            print_past(out, &groups->group[g], groups->group[g].run[i]);
    print_advices(out, table, details);
}

static bool was_stale(const struct hr_run_group *group)
{
    bool stale = false;
    for (size_t i = 0; i < group->n; i++)
        stale |= group->run[i]->stale_max > 0;
    return stale;
}

/* Of those that had any. */
static void print_asynchrony(FILE *out, struct layout *layout)
{
    size_t n = 0;
    for (size_t r = 0; r < layout->nrows; r++)
        if (was_stale(layout->rows[r]))
            layout->rows[n++] = layout->rows[r];
    layout->nrows = n;
    if (n == 0)
        return;
    fputc('\n', out);
    print_columns(out, layout, ASYNCHRONY);
    print_legend(out, layout, false);
}

static unsigned what_runs_have(const struct hr_run_result *runs, size_t n, double target)
{
    unsigned has = target > 0 ? TARGET : NO_TARGET;
    for (size_t i = 0; i < n; i++) {
        const struct hr_run_result *run = &runs[i];
        has |= run->targets ? VALUES : CLASSES;
        has |= (run->max_skew ? LEADS : 0U) | (run->dropped ? DROPS : 0U) |
               (run->resent ? RESENT : 0U) | (run->validation_samples ? VALIDATION : 0U) |
               (run->watched_lines ? WATCHED : 0U);
    }
    return has;
}

void hr_table_print(FILE *out, const struct hr_run_result *runs, size_t n,
                    const struct hr_table_style *style)
{
    struct hr_groups groups;
    if (n == 0)
        return;
    const struct hr_run_group **rows = calloc(n, sizeof *rows);
    if (!rows || hr_groups_make(&groups, runs, n) != HR_OK) {
        free(rows);
        fputs("(no table: no memory)\n", out);
        return;
    }
    const struct table table = {&groups, style->target, style->width,
                                what_runs_have(runs, n, style->target)};
    struct layout layout = {.table = &table, .rows = rows, .nrows = groups.n};
    for (size_t g = 0; g < groups.n; g++)
        rows[g] = &groups.group[g];
    print_columns(out, &layout, style->details ? WHOLE : BRIEF);
    print_legend(out, &layout, true);
    print_notes(out, &table, style->details);
    if (style->details)
        print_asynchrony(out, &layout);
    hr_groups_free(&groups);
    free(rows);
}
