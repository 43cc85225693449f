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
#include "report/report.h"
#include "report/groups.h"
#include "report/human.h"
#include "terminal/grid.h"
#include "train/dense_result.h"

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
    UNEQUAL =
        512, /* classes of which accuracy says too little, or by whose scores a run is judged */
    RANKED = 1024, /* of two */
    TEXT = 2048,
    SAMPLES = 4096, /* that are no text */
};

struct table {
    const struct hr_groups *groups;
    struct hr_target target;
    size_t width; /* of the terminal; 0: any */
    unsigned has;
};

/* What a score is: a share of samples, a loss, an error in the targets' unit, R2 or an area. */
enum score { SHARE, LOSS, ERROR, AREA };

struct column {
    const char *head; /* two lines */
    void (*write)(FILE *cell, const struct hr_run_group *group, const struct column *column);
    hr_measure_fn measure; /* that the cell is of; NULL: of none, or of several */
    unsigned tables, needs;
    int expendable;      /* where there is no room, the most expendable goes first; 0: never */
    enum score score;    /* of a cell of one */
    const char *format;  /* of a mean */
    const char *meaning; /* a line below says it; NULL: it speaks for itself */
};

static double mean_of(const struct hr_run_group *group, hr_measure_fn measure)
{
    return hr_run_group_spread(group, measure).mean;
}

/* --- cells: how well runs predict */

/* Targets have any size: their errors have four significant digits. */
static void write_spread(FILE *cell, const struct hr_run_group *group, struct hr_spread spread,
                         enum score score)
{
    char text[HR_HUMAN_MAX];
    const double mean = fabs(spread.mean);
    const int digits = mean > 0 && isfinite(mean) ? (int)floor(log10(mean)) : 0;
    const int decimals[] = {[SHARE] = 2,
                            [LOSS] = group->n > 1 ? 3 : 4,
                            [ERROR] = digits > 2    ? 1
                                      : digits < -3 ? 6
                                                    : 3 - digits,
                            [AREA] = 4};
    if (isfinite(mean) || (score == LOSS && !group->interrupted))
        hr_human_spread(text, &spread, score == SHARE ? 100 : 1, decimals[score]);
    else
        snprintf(text, sizeof text, "-"); /* it predicts something else, or was not evaluated */
    fputs(text, cell);
}

static void cell_score(FILE *cell, const struct hr_run_group *group, const struct column *column)
{
    const struct hr_spread spread = hr_run_group_spread(group, column->measure);
    write_spread(cell, group, spread, column->score);
}

/* The mean alone: there is no room for its spread. */
static void cell_loss(FILE *cell, const struct hr_run_group *group, const struct column *column)
{
    struct hr_spread spread = hr_run_group_spread(group, column->measure);
    spread.n = 1;
    write_spread(cell, group, spread, LOSS);
    if (column->measure == hr_measure_train_loss && hr_run_group_rose(group))
        fputc('!', cell);
}

/* --- cells: what it took */

static void cell_label(FILE *cell, const struct hr_run_group *group, const struct column *column)
{
    (void)column;
    fprintf(cell, "%s%s%s%s", group->label, hr_run_group_lost(group) ? "~" : "",
            group->interrupted ? "*" : "", hr_run_group_chance(group) ? "!" : "");
}

static void cell_mean(FILE *cell, const struct hr_run_group *group, const struct column *column)
{
    const double mean = mean_of(group, column->measure);
    if (isfinite(mean))
        fprintf(cell, column->format, mean);
    else
        fputc('-', cell); /* a solver without a rate; workers that push no gradients */
}

static void cell_most(FILE *cell, const struct hr_run_group *group, const struct column *column)
{
    fprintf(cell, "%.0f", hr_run_group_spread(group, column->measure).most);
}

static void cell_seconds(FILE *cell, const struct hr_run_group *group, const struct column *column)
{
    char text[HR_HUMAN_MAX];
    fputs(hr_human_seconds(text, mean_of(group, column->measure)), cell);
}

static void cell_rate(FILE *cell, const struct hr_run_group *group, const struct column *column)
{
    char text[HR_HUMAN_MAX];
    const struct hr_spread spread = hr_run_group_spread(group, column->measure);
    fputs(hr_human_short_spread(text, &spread), cell);
}

static void cell_updates(FILE *cell, const struct hr_run_group *group, const struct column *column)
{
    char text[HR_HUMAN_MAX];
    const double mean = mean_of(group, column->measure);
    if (mean < 99999.5)
        fprintf(cell, "%.0f", mean);
    else
        fputs(hr_human_short(text, mean), cell);
}

static void cell_staleness(FILE *cell, const struct hr_run_group *group,
                           const struct column *column)
{
    cell_mean(cell, group, column);
    if (isfinite(mean_of(group, column->measure)))
        fprintf(cell, "/%.0f", hr_run_group_spread(group, hr_measure_stale_max).most);
}

/* Percent of the workers' time: loading, computing, communicating, waiting; or the last alone. */
static void write_time(FILE *cell, const struct hr_run_group *group, bool wait)
{
    double part[4] = {0}, all = 0;
    for (size_t i = 0; i < group->n; i++) {
        const struct hr_run_result *run = group->run[i];
        const double its[] = {run->load_s, run->compute_s, run->communicate_s, run->wait_s};
        for (size_t k = 0; k < 4; k++) {
            part[k] += its[k];
            all += its[k];
        }
    }
    if (!(all > 0))
        fputc('-', cell);
    else if (wait)
        fprintf(cell, "%.0f", 100 * part[3] / all);
    else
        fprintf(cell, "%.0f/%.0f/%.0f/%.0f", 100 * part[0] / all, 100 * part[1] / all,
                100 * part[2] / all, 100 * part[3] / all);
}

static void cell_time(FILE *cell, const struct hr_run_group *group, const struct column *column)
{
    write_time(cell, group, column->tables == BRIEF);
}

static void cell_target(FILE *cell, const struct hr_run_group *group, const struct column *column)
{
    const struct hr_spread spread = hr_run_group_target(group);
    char seconds[HR_HUMAN_MAX];
    (void)column;
    fputs(spread.n ? hr_human_seconds(seconds, spread.mean) : "never", cell);
    if (spread.n && spread.n < group->n)
        fprintf(cell, " (%zu of %zu)", spread.n, group->n);
}

/* --- cells: what asynchrony did */

/* A quantile over the updates of all runs of the group; ">=" when it is in the last bucket. */
static void write_quantile(FILE *cell, const struct hr_run_group *group, double q)
{
    const size_t last = HR_RESULT_STALENESS_BUCKETS - 1;
    uint64_t *sum = calloc(last + 1, sizeof *sum);
    for (size_t i = 0; sum && i < group->n; i++)
        for (size_t bucket = 0; bucket <= last; bucket++)
            sum[bucket] += group->run[i]->stale[bucket];
    const size_t value = sum ? hr_histogram_quantile(sum, last + 1, q) : 0;
    fprintf(cell, "%s%zu/", value == last ? ">=" : "", value);
    free(sum);
}

static void cell_quantiles(FILE *cell, const struct hr_run_group *group,
                           const struct column *column)
{
    write_quantile(cell, group, 0.5);
    write_quantile(cell, group, 0.99);
    cell_most(cell, group, column);
}

/* The worker whose updates were the stalest, by their mean, in any run. */
static void cell_worst(FILE *cell, const struct hr_run_group *group, const struct column *column)
{
    double most = -1;
    size_t worker = 0;
    (void)column;
    for (size_t i = 0; i < group->n; i++)
        for (size_t w = 0; w < group->run[i]->nstale_workers; w++) {
            const struct hr_staleness *part = &group->run[i]->stale_parts[w];
            const double mean = (double)part->sum / (double)part->updates;
            if (!(mean > most)) /* also skips NaN: no updates */
                continue;
            most = mean;
            worker = w;
        }
    if (most < 0)
        fputc('-', cell);
    else
        fprintf(cell, "%zu: %.2f", worker, most);
}

/* Computed from the mean staleness in the table, as the legend says; the mean of the runs' own
 * predictions would differ. */
static void cell_momentum(FILE *cell, const struct hr_run_group *group, const struct column *column)
{
    const double set = group->run[0]->asynchrony.explicit_momentum;
    const double implicit = 1 - 1 / (1 + mean_of(group, hr_measure_stale_mean));
    if (isfinite(implicit) && isfinite(mean_of(group, column->measure)))
        fprintf(cell, "%.2f/%.2f/%.3f", set, implicit, 1 - (1 - set) * (1 - implicit));
    else
        fputc('-', cell);
}

static void cell_lost(FILE *cell, const struct hr_run_group *group, const struct column *column)
{
    struct hr_lost_share sum = {0};
    (void)column;
    for (size_t i = 0; i < group->n; i++)
        sum = hr_lost_share_with(sum, group->run[i]);
    if (sum.lines == 0)
        fputc('-', cell);
    else
        fprintf(cell, "%.2g [%.2g, %.2g]", 100 * sum.fraction, 100 * sum.low, 100 * sum.high);
}

/* --- columns */

static const struct column columns[] = {
    {"-\nstrategy", cell_label, .tables = BRIEF | WHOLE | ASYNCHRONY},
    {"test\naccuracy %", cell_score, hr_measure_accuracy, BRIEF | WHOLE, CLASSES, .score = SHARE},
    {"balanced\nacc. %", cell_score, hr_measure_balanced_accuracy, BRIEF | WHOLE, CLASSES | UNEQUAL,
     .expendable = 1, .score = SHARE},
    {"macro\nF1 %", cell_score, hr_measure_macro_f1, BRIEF | WHOLE, CLASSES | UNEQUAL,
     .expendable = 4, .score = SHARE},
    {"ROC\nAUC", cell_score, hr_measure_roc_auc, BRIEF | WHOLE, CLASSES | UNEQUAL | RANKED,
     .expendable = 3, .score = AREA},
    {"test\nrmse", cell_score, hr_measure_rmse, BRIEF | WHOLE, VALUES, .score = ERROR},
    {"test\nmae", cell_score, hr_measure_mae, WHOLE, VALUES, .expendable = 5, .score = ERROR},
    {"test\nR2", cell_score, hr_measure_r2, WHOLE, VALUES, .expendable = 1, .score = AREA},
    {"test\nloss", cell_loss, hr_measure_test_loss, BRIEF, 0, .expendable = 7, .score = LOSS},
    {"test\nloss", cell_score, hr_measure_test_loss, WHOLE, 0, .expendable = 1, .score = LOSS},
    {"\nperplexity", cell_score, hr_measure_perplexity, BRIEF | WHOLE, TEXT, .expendable = 4,
     .score = ERROR},
    {"bits\na byte", cell_score, hr_measure_bits_per_byte, BRIEF | WHOLE, TEXT, .expendable = 3,
     .score = ERROR},
    {"valid.\nacc. %", cell_score, hr_measure_validation_accuracy, WHOLE, VALIDATION | CLASSES,
     .expendable = 1, .score = SHARE},
    {"valid.\nrmse", cell_score, hr_measure_validation_rmse, WHOLE, VALIDATION | VALUES,
     .expendable = 1, .score = ERROR},
    {"valid.\nloss", cell_score, hr_measure_validation_loss, WHOLE, VALIDATION, .expendable = 6,
     .score = LOSS},
    {"train\nloss", cell_loss, hr_measure_train_loss, WHOLE, 0, .expendable = 8, .score = LOSS},
    {"seconds\nto target", cell_target, NULL, BRIEF, TARGET, .expendable = 2},
    {"seconds", cell_seconds, hr_measure_seconds, BRIEF, NO_TARGET, .expendable = 2},
    {"seconds", cell_seconds, hr_measure_seconds, WHOLE, 0, .expendable = 2},
    {"samples/s", cell_rate, hr_measure_shown_rate, WHOLE, SAMPLES, .expendable = 3},
    {"tokens/s", cell_rate, hr_measure_shown_rate, WHOLE, TEXT, .expendable = 3},
    {"updates", cell_updates, hr_measure_updates, BRIEF | WHOLE, 0, .expendable = 9},
    {"lr", cell_mean, hr_measure_lr, BRIEF | WHOLE, 0, .expendable = 5, .format = "%.4g"},
    {"staleness\nmean/max", cell_staleness, hr_measure_stale_mean, BRIEF | WHOLE, 0,
     .expendable = 6, .format = "%.2f"},
    {"wait\n%", cell_time, NULL, BRIEF, 0, .expendable = 8},
    {"max\nlead", cell_most, hr_measure_max_lead, WHOLE, LEADS, .expendable = 8,
     .meaning = "max lead between two workers, in updates"},
    {"gradients\ndropped", cell_mean, hr_measure_dropped, WHOLE, DROPS, .expendable = 3,
     .format = "%.4g"},
    {"pushes\nresent", cell_mean, hr_measure_resent, WHOLE, RESENT, .expendable = 8,
     .format = "%.4g"},
    {"time %\nload/compute/comm/wait", cell_time, NULL, WHOLE, 0, .expendable = 4},
    {"seconds\nto target", cell_target, NULL, WHOLE, TARGET, .expendable = 2},
    {"staleness\nmean", cell_mean, hr_measure_stale_mean, ASYNCHRONY, 0, .expendable = 7,
     .format = "%.2f"},
    {"staleness\np50/p99/max", cell_quantiles, hr_measure_stale_max, ASYNCHRONY, 0,
     .expendable = 1},
    {"most stale\nworker", cell_worst, NULL, ASYNCHRONY, 0, .expendable = 6},
    {"effective\nlr", cell_mean, hr_measure_effective_lr, ASYNCHRONY, 0, .expendable = 5,
     .format = "%.3g",
     .meaning = "effective lr: mean lr x (1 + mean staleness), with --async-lr same:inverse times "
                "its mean share"},
    {"momentum: configured\n/asynchrony/total", cell_momentum, hr_measure_effective_lr, ASYNCHRONY,
     0, .expendable = 4,
     .meaning = "momentum from asynchrony: predicted, 1 - 1 / (1 + mean staleness)"},
    {"lost\nupdates %", cell_lost, NULL, ASYNCHRONY, WATCHED, .expendable = 3,
     .meaning = "lost updates: weights overwritten by another's update; a sample, 95 % interval"},
};

enum { NCOLUMNS = sizeof columns / sizeof *columns };

/* --- layout */

struct layout {
    const struct table *table;
    const struct hr_run_group **rows; /* (nrows) */
    size_t nrows;
    bool shown[NCOLUMNS];
};

static void print_columns(FILE *out, struct layout *layout, unsigned table)
{
    struct hr_grid grid;
    size_t at[NCOLUMNS];
    hr_grid_begin(&grid, "");
    grid.cure = "; --wide shows all";
    for (size_t c = 0; c < NCOLUMNS; c++) {
        layout->shown[c] = (columns[c].tables & table) && !(columns[c].needs & ~layout->table->has);
        at[c] = grid.n;
        if (layout->shown[c])
            hr_grid_add(&grid, columns[c].head)->fit.expendable = columns[c].expendable;
    }
    for (size_t r = 0; r < layout->nrows; r++) {
        for (size_t c = 0; c < NCOLUMNS; c++)
            if (layout->shown[c]) {
                fputs(at[c] ? "\t" : "", grid.cells);
                columns[c].write(grid.cells, layout->rows[r], &columns[c]);
            }
        fputc('\n', grid.cells);
    }
    hr_grid_end(&grid, out, layout->table->width);
    for (size_t c = 0; c < NCOLUMNS; c++)
        layout->shown[c] = layout->shown[c] && grid.column[at[c]].fit.shown;
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
    fprintf(out, "%s%s: resumed at step %llu. ", hr_yields(out, HR_NOTICE), group->name,
            (unsigned long long)run->resumed_step);
    if (run->past_seconds > 0)
        fprintf(out,
                "Seconds, speed and updates are of the whole training (of this run: %s s, %llu "
                "updates), waiting and staleness of this run.\n",
                hr_human_seconds(seconds, run->seconds), (unsigned long long)run->updates);
    else
        fputs("All figures are of this run: what came before is not known.\n", out);
}

typedef bool (*advice_fn)(const struct hr_run_result *run, const char *name,
                          char text[HR_ADVICE_MAX]);

/* Of several seeds the first that needs it gives the advice; `count` do. */
static bool print_advice(FILE *out, const struct hr_run_group *group, advice_fn advise,
                         size_t count)
{
    char advice[HR_ADVICE_MAX];
    size_t i = 0;
    while (i < group->n && !advise(group->run[i], group->name, advice))
        i++;
    if (i == group->n)
        return false;
    fprintf(out, "%s! %s", hr_yields(out, HR_NOTICE), advice);
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
    const char *before = hr_yields(out, HR_LEGEND), *const begun = before;
    for (size_t c = 0; c < NCOLUMNS; c++)
        if (layout->shown[c] && columns[c].meaning) {
            fprintf(out, "%s%s", before, columns[c].meaning);
            before = "; ";
        }
    if (target && table->target.value > 0) {
        const enum hr_metric metric = table->target.metric;
        fprintf(out, "%starget: %s %s%s", before, table->has & VALIDATION ? "validation" : "test",
                metric == HR_METRIC_ACCURACY ? "accuracy " : "",
                hr_target_text(metric, table->target.value).text);
        before = "; ";
    }
    for (size_t r = 0; target && r < layout->nrows; r++) {
        const struct hr_run_result *run = layout->rows[r]->run[0];
        char setup[64];
        snprintf(setup, sizeof setup, " %zuW%zuPS", run->workers, run->servers);
        if (!strstr(layout->rows[r]->label, setup))
            continue;
        fprintf(out, "%s%s: %zu workers, %zu server%s", before, setup + 1, run->workers,
                run->servers, run->servers == 1 ? "" : "s");
        before = "; ";
        break;
    }
    if (target && table->groups->most > 1) {
        fputs(before, out);
        print_seeds(out, table->groups);
        before = "; ";
    }
    if (before != begun)
        fputc('\n', out);
}

static void print_interrupted(FILE *out, const struct hr_groups *groups)
{
    bool interrupted = false;
    for (size_t g = 0; g < groups->n; g++)
        interrupted |= groups->group[g].interrupted;
    if (interrupted)
        fprintf(out, "%s* interrupted before its end\n", hr_yields(out, HR_LEGEND));
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
        enum hr_metric best = HR_METRIC_LOSS;
        const bool named = hr_metric_parse(run->best.metric, &best) && best > HR_METRIC_ACCURACY &&
                           best < HR_METRIC_RMSE;
        has |= run->tokens ? TEXT : SAMPLES | (run->targets ? VALUES : CLASSES);
        has |=
            (run->unequal || named ? UNEQUAL : 0U) | (isnan(hr_measure_roc_auc(run)) ? 0U : RANKED);
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
                                what_runs_have(runs, n, style->target.value)};
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
