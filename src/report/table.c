/* One row a strategy, in a header of two lines; where a terminal is narrow, columns go by how much
 * a reader can do without them. Below it, a table of what asynchrony did (asynchrony.c). */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/asynchrony.h"
#include "report/best.h"
#include "report/columns.h"
#include "report/human.h"
#include "report/lost_ranks.h"
#include "report/node_step.h"
#include "report/report.h"
#include "report/score_cells.h"
#include "report/waited_for.h"

struct table {
    const struct hr_groups *groups;
    const struct hr_run_group **rows; /* (groups->n) */
    double target;                    /* 0: no such column */
    size_t width;                     /* of the terminal; 0: any */
    bool skews;                       /* some run had workers apart by clocks */
    bool drops;                       /* some run dropped gradients */
    bool resent;                      /* some run sent pushes again */
    bool validates;                   /* some run held out a validation split */
    bool classes, values;             /* some run predicts them */
};

/* --- cells */

static void cell_label(const struct hr_run_group *group, char *cell)
{
    snprintf(cell, HR_CELL_MAX, "%s%s%s%s", group->label, hr_run_group_lost(group) ? "~" : "",
             group->interrupted ? "*" : "", hr_run_group_chance(group) ? "!" : "");
}

/* The mean alone: there is no room for its spread. */
static void cell_train_loss(const struct hr_run_group *group, char *cell)
{
    struct hr_spread spread = hr_run_group_spread(group, hr_measure_train_loss);
    spread.n = 1;
    hr_human_spread(cell, &spread, 1, group->n > 1 ? 3 : 4);
    if (hr_run_group_rose(group))
        strcat(cell, "!"); /* there is room */
}

static void cell_seconds(const struct hr_run_group *group, char *cell)
{
    hr_human_seconds(cell, hr_run_group_spread(group, hr_measure_seconds).mean);
}

static void cell_rate(const struct hr_run_group *group, char *cell)
{
    const struct hr_spread spread = hr_run_group_spread(group, hr_measure_rate);
    hr_human_short_spread(cell, &spread);
}

static void cell_updates(const struct hr_run_group *group, char *cell)
{
    const double mean = hr_run_group_spread(group, hr_measure_updates).mean;
    if (mean < 99999.5)
        snprintf(cell, HR_CELL_MAX, "%.0f", mean);
    else
        hr_human_short(cell, mean);
}

static void cell_lr(const struct hr_run_group *group, char *cell)
{
    if (isfinite(group->run[0]->lr))
        snprintf(cell, HR_CELL_MAX, "%.4g", group->run[0]->lr);
    else
        snprintf(cell, HR_CELL_MAX, "-"); /* a solver that needs none */
}

/* A counter of runs, by its place in struct hr_run_result. */
static uint64_t counter(const struct hr_run_result *run, size_t place)
{
    uint64_t value;
    memcpy(&value, (const char *)run + place, sizeof value);
    return value;
}

static uint64_t most(const struct hr_run_group *group, size_t place)
{
    uint64_t value = 0;
    for (size_t i = 0; i < group->n; i++)
        value = counter(group->run[i], place) > value ? counter(group->run[i], place) : value;
    return value;
}

static uint64_t sum(const struct hr_run_group *group, size_t place)
{
    uint64_t value = 0;
    for (size_t i = 0; i < group->n; i++)
        value += counter(group->run[i], place);
    return value;
}

/* Of a run, on average. */
static void put_mean(const struct hr_run_group *group, size_t place, char *cell)
{
    snprintf(cell, HR_CELL_MAX, "%.4g", (double)sum(group, place) / (double)group->n);
}

static void cell_staleness(const struct hr_run_group *group, char *cell)
{
    const uint64_t max = most(group, offsetof(struct hr_run_result, stale_max));
    const double mean = hr_run_group_spread(group, hr_measure_stale_mean).mean;
    if (isfinite(mean))
        snprintf(cell, HR_CELL_MAX, "%.2f/%llu", mean, (unsigned long long)max);
    else
        snprintf(cell, HR_CELL_MAX, "-");
}

/* The largest of all seeds. */
static void cell_skew(const struct hr_run_group *group, char *cell)
{
    const uint64_t max = most(group, offsetof(struct hr_run_result, max_skew));
    snprintf(cell, HR_CELL_MAX, "%llu", (unsigned long long)max);
}

static void cell_dropped(const struct hr_run_group *group, char *cell)
{
    put_mean(group, offsetof(struct hr_run_result, dropped), cell);
}

static void cell_resent(const struct hr_run_group *group, char *cell)
{
    put_mean(group, offsetof(struct hr_run_result, resent), cell);
}

/* Percent of the total; the four add up to 100, but for rounding. */
static void cell_time(const struct hr_run_group *group, char *cell)
{
    double load = 0, compute = 0, communicate = 0, wait = 0;
    for (size_t i = 0; i < group->n; i++) {
        load += group->run[i]->load_s;
        compute += group->run[i]->compute_s;
        communicate += group->run[i]->communicate_s;
        wait += group->run[i]->wait_s;
    }
    const double percent = 100 / (load + compute + communicate + wait);
    if (isfinite(percent))
        snprintf(cell, HR_CELL_MAX, "%.0f/%.0f/%.0f/%.0f", load * percent, compute * percent,
                 communicate * percent, wait * percent);
    else
        snprintf(cell, HR_CELL_MAX, "-");
}

static void cell_target(const struct hr_run_group *group, char *cell)
{
    const struct hr_spread spread = hr_run_group_target(group);
    char seconds[HR_HUMAN_MAX];
    hr_human_seconds(seconds, spread.mean);
    if (spread.n == 0)
        snprintf(cell, HR_CELL_MAX, "never");
    else if (spread.n < group->n)
        snprintf(cell, HR_CELL_MAX, "%s (%zu of %zu)", seconds, spread.n, group->n);
    else
        snprintf(cell, HR_CELL_MAX, "%s", seconds);
}

/* --- columns */

struct column {
    struct hr_column column;
    bool (*shown)(const struct table *table); /* NULL: always */
};

static bool has_target(const struct table *table)
{
    return table->target > 0;
}

static bool has_skews(const struct table *table)
{
    return table->skews;
}

static bool has_drops(const struct table *table)
{
    return table->drops;
}

static bool has_resent(const struct table *table)
{
    return table->resent;
}

static bool has_validation(const struct table *table)
{
    return table->validates;
}

static bool has_classes(const struct table *table)
{
    return table->classes;
}

static bool has_values(const struct table *table)
{
    return table->values;
}

static bool has_validated_classes(const struct table *table)
{
    return table->validates && table->classes;
}

static bool has_validated_values(const struct table *table)
{
    return table->validates && table->values;
}

static const struct column columns[] = {
    {{"", "strategy", cell_label, 0, NULL, false}, NULL},
    {{"test", "accuracy %", hr_cell_accuracy, 0, hr_measure_accuracy, false}, has_classes},
    {{"test", "rmse", hr_cell_rmse, 0, hr_measure_rmse, true}, has_values},
    {{"test", "mae", hr_cell_mae, 5, hr_measure_mae, true}, has_values},
    {{"test", "R2", hr_cell_r2, 1, hr_measure_r2, false}, has_values},
    {{"test", "loss", hr_cell_test_loss, 1, hr_measure_test_loss, true}, NULL},
    {{"valid.", "acc. %", hr_cell_validation_accuracy, 1, NULL, false}, has_validated_classes},
    {{"valid.", "rmse", hr_cell_validation_rmse, 1, NULL, false}, has_validated_values},
    {{"valid.", "loss", hr_cell_validation_loss, 6, NULL, false}, has_validation},
    {{"train", "loss", cell_train_loss, 7, NULL, false}, NULL},
    {{"", "seconds", cell_seconds, 2, hr_measure_seconds, true}, NULL},
    {{"", "samples/s", cell_rate, 3, hr_measure_rate, false}, NULL},
    {{"", "updates", cell_updates, 8, NULL, false}, NULL},
    {{"", "lr", cell_lr, 9, NULL, false}, NULL},
    {{"staleness", "mean/max", cell_staleness, 4, NULL, false}, NULL},
    {{"clock", "skew", cell_skew, 8, NULL, false}, has_skews},
    {{"gradients", "dropped", cell_dropped, 3, NULL, false}, has_drops},
    {{"pushes", "resent", cell_resent, 8, NULL, false}, has_resent},
    {{"time %", "l/c/c/w", cell_time, 5, NULL, false}, NULL},
    {{"seconds", "to target", cell_target, 2, NULL, false}, has_target},
};

enum { NCOLUMNS = sizeof columns / sizeof *columns };

struct printed {
    struct hr_column column[NCOLUMNS];
    size_t n;
    uint32_t columns; /* those there was room for, a bit each */
};

static struct printed print_columns(FILE *out, const struct table *table)
{
    struct printed printed = {.n = 0};
    for (size_t c = 0; c < NCOLUMNS; c++)
        if (!columns[c].shown || columns[c].shown(table))
            printed.column[printed.n++] = columns[c].column;
    printed.columns = hr_columns_print(out, &(struct hr_columns){printed.column, printed.n},
                                       table->rows, table->groups->n, table->width);
    return printed;
}

static bool has_column(const struct printed *printed, hr_cell_fn cell)
{
    for (size_t c = 0; c < printed->n; c++)
        if (printed->column[c].cell == cell)
            return printed->columns >> c & 1;
    return false;
}

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
static void print_advice(FILE *out, const struct hr_run_group *group, advice_fn advise,
                         size_t count)
{
    char advice[HR_ADVICE_MAX];
    size_t i = 0;
    while (i < group->n && !advise(group->run[i], group->label, advice))
        i++;
    if (i == group->n)
        return;
    fprintf(out, "! %s", advice);
    if (group->n > 1)
        fprintf(out, " (seed %llu; %zu of %zu %s)", (unsigned long long)group->run[i]->seed, count,
                group->n, hr_run_group_unit(group));
    fputc('\n', out);
}

/* Of what the table's words mean, one line; "; " between two. */
static void print_legend(FILE *out, const struct table *table, const struct printed *printed)
{
    const char *before = "";
    if (has_column(printed, cell_time)) {
        fputs("l/c/c/w: load / compute / communicate / wait, of the workers' time", out);
        before = "; ";
    }
    if (has_column(printed, cell_skew)) {
        fprintf(out, "%sskew: most clocks between two workers", before);
        before = "; ";
    }
    if (table->target > 0) {
        const enum hr_metric metric = hr_metric_of_run(table->groups->group[0].run[0]);
        fprintf(out, "%starget: %s %s%s", before, table->validates ? "validation" : "test",
                metric == HR_METRIC_ACCURACY ? "accuracy " : "",
                hr_target_text(metric, table->target).text);
        before = "; ";
    }
    if (table->groups->most > 1) {
        fputs(before, out);
        print_seeds(out, table->groups);
        before = "; ";
    }
    if (before[0])
        fputc('\n', out);
}

static void print_notes(FILE *out, const struct table *table, const struct printed *printed)
{
    bool interrupted = false;
    for (size_t g = 0; g < table->groups->n; g++)
        interrupted |= table->groups->group[g].interrupted;
    print_legend(out, table, printed);
    if (interrupted)
        fputs("* interrupted before its end\n", out);
    hr_lost_ranks_print(out, table->groups);
    hr_waited_for_print(out, table->groups, table->width == 0);
    hr_node_step_print(out, table->groups);
    hr_best_print(out, table->groups);
    for (size_t g = 0; g < table->groups->n; g++)
        for (size_t i = 0; i < table->groups->group[g].n; i++)
            print_past(out, &table->groups->group[g], table->groups->group[g].run[i]);
    for (size_t g = 0; g < table->groups->n; g++) {
        const struct hr_run_group *group = &table->groups->group[g];
        print_advice(out, group, hr_advice_rising, hr_run_group_rose(group));
        print_advice(out, group, hr_advice_chance, hr_run_group_chance(group));
    }
}

void hr_table_print(FILE *out, const struct hr_run_result *runs, size_t n, double target,
                    size_t width)
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
    struct table table = {.groups = &groups, .rows = rows, .target = target, .width = width};
    for (size_t i = 0; i < n; i++) {
        table.skews |= runs[i].max_skew > 0;
        table.values |= runs[i].targets > 0;
        table.classes |= runs[i].targets == 0;
        table.validates |= runs[i].validation_samples > 0;
    }
    for (size_t g = 0; g < groups.n; g++) {
        rows[g] = &groups.group[g];
        table.drops |= sum(rows[g], offsetof(struct hr_run_result, dropped)) > 0;
        table.resent |= sum(rows[g], offsetof(struct hr_run_result, resent)) > 0;
    }
    const struct printed printed = print_columns(out, &table);
    print_notes(out, &table, &printed);
    hr_asynchrony_print(out, &groups, width);
    hr_groups_free(&groups);
    free(rows);
}
