/* One row a strategy; a header of two lines keeps a table of several seeds within some 110
 * characters. Below it, a table of what asynchrony did (asynchrony.c). */
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
#include "report/report.h"

struct table {
    const struct hr_groups *groups;
    const struct hr_run_group **rows; /* (groups->n) */
    double target;                    /* 0: no such column */
    bool skews;                       /* some run had workers apart by clocks */
    bool drops;                       /* some run dropped gradients */
    bool resent;                      /* some run sent pushes again */
    bool validates;                   /* some run held out a validation split */
};

/* --- cells */

static void cell_label(const struct hr_run_group *group, char *cell)
{
    snprintf(cell, HR_CELL_MAX, "%s%s%s", group->label, hr_run_group_lost(group) ? "~" : "",
             group->interrupted ? "*" : "");
}

static void put_accuracy(const struct hr_run_group *group, hr_measure_fn measure, char *cell)
{
    const struct hr_spread spread = hr_run_group_spread(group, measure);
    if (isfinite(spread.mean))
        hr_human_spread(cell, &spread, 100, 2);
    else
        snprintf(cell, HR_CELL_MAX, "-"); /* mf predicts numbers */
}

static void put_loss(const struct hr_run_group *group, hr_measure_fn measure, char *cell)
{
    const struct hr_spread spread = hr_run_group_spread(group, measure);
    hr_human_spread(cell, &spread, 1, spread.n > 1 ? 3 : 4);
}

static void cell_accuracy(const struct hr_run_group *group, char *cell)
{
    put_accuracy(group, hr_measure_accuracy, cell);
}

static void cell_test_loss(const struct hr_run_group *group, char *cell)
{
    put_loss(group, hr_measure_test_loss, cell);
}

static void cell_validation_accuracy(const struct hr_run_group *group, char *cell)
{
    put_accuracy(group, hr_measure_validation_accuracy, cell);
}

static void cell_validation_loss(const struct hr_run_group *group, char *cell)
{
    put_loss(group, hr_measure_validation_loss, cell);
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

static const struct column columns[] = {
    {{"", "strategy", cell_label}, NULL},
    {{"test", "accuracy %", cell_accuracy}, NULL},
    {{"test", "loss", cell_test_loss}, NULL},
    {{"valid.", "acc. %", cell_validation_accuracy}, has_validation},
    {{"valid.", "loss", cell_validation_loss}, has_validation},
    {{"train", "loss", cell_train_loss}, NULL},
    {{"", "seconds", cell_seconds}, NULL},
    {{"", "samples/s", cell_rate}, NULL},
    {{"", "updates", cell_updates}, NULL},
    {{"", "lr", cell_lr}, NULL},
    {{"staleness", "mean/max", cell_staleness}, NULL},
    {{"clock", "skew", cell_skew}, has_skews},
    {{"gradients", "dropped", cell_dropped}, has_drops},
    {{"pushes", "resent", cell_resent}, has_resent},
    {{"time %", "l/c/c/w", cell_time}, NULL},
    {{"seconds", "to target", cell_target}, has_target},
};

enum { NCOLUMNS = sizeof columns / sizeof *columns };

static void print_columns(FILE *out, const struct table *table)
{
    struct hr_column shown[NCOLUMNS];
    size_t n = 0;
    for (size_t c = 0; c < NCOLUMNS; c++)
        if (!columns[c].shown || columns[c].shown(table))
            shown[n++] = columns[c].column;
    hr_columns_print(out, shown, n, table->rows, table->groups->n);
}

static void print_seeds(FILE *out, const struct hr_groups *groups)
{
    size_t least = groups->most;
    for (size_t g = 0; g < groups->n; g++)
        least = groups->group[g].n < least ? groups->group[g].n : least;
    fprintf(out, "; mean %s standard deviation of ", hr_human_utf8() ? "\xc2\xb1" : "+-");
    if (least < groups->most)
        fprintf(out, "%zu to ", least);
    fprintf(out, "%zu seeds", groups->most);
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

/* Of several seeds the first that rose gives the advice. */
static void print_rising(FILE *out, const struct hr_run_group *group)
{
    char advice[HR_ADVICE_MAX];
    size_t i = 0;
    while (i < group->n && !hr_advice_rising(group->run[i], group->label, advice))
        i++;
    if (i == group->n)
        return;
    fprintf(out, "! %s", advice);
    if (group->n > 1)
        fprintf(out, " (seed %llu; %zu of %zu seeds)", (unsigned long long)group->run[i]->seed,
                hr_run_group_rose(group), group->n);
    fputc('\n', out);
}

static void print_notes(FILE *out, const struct table *table)
{
    bool interrupted = false;
    for (size_t g = 0; g < table->groups->n; g++)
        interrupted |= table->groups->group[g].interrupted;
    fputs("l/c/c/w: load / compute / communicate / wait, of the workers' time", out);
    if (table->skews)
        fputs("; skew: most clocks between two workers", out);
    if (table->target > 0)
        fprintf(out, "; target: %s accuracy %.4g %%", table->validates ? "validation" : "test",
                100 * table->target);
    if (table->groups->most > 1)
        print_seeds(out, table->groups);
    fputs(interrupted ? "\n* interrupted before its end\n" : "\n", out);
    hr_lost_ranks_print(out, table->groups);
    hr_best_print(out, table->groups);
    for (size_t g = 0; g < table->groups->n; g++)
        for (size_t i = 0; i < table->groups->group[g].n; i++)
            print_past(out, &table->groups->group[g], table->groups->group[g].run[i]);
    for (size_t g = 0; g < table->groups->n; g++)
        print_rising(out, &table->groups->group[g]);
}

void hr_table_print(FILE *out, const struct hr_run_result *runs, size_t n, double target)
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
    struct table table = {.groups = &groups, .rows = rows, .target = target};
    for (size_t i = 0; i < n; i++) {
        table.skews |= runs[i].max_skew > 0;
        table.validates |= runs[i].validation_samples > 0;
    }
    for (size_t g = 0; g < groups.n; g++) {
        rows[g] = &groups.group[g];
        table.drops |= sum(rows[g], offsetof(struct hr_run_result, dropped)) > 0;
        table.resent |= sum(rows[g], offsetof(struct hr_run_result, resent)) > 0;
    }
    print_columns(out, &table);
    print_notes(out, &table);
    hr_asynchrony_print(out, &groups);
    hr_groups_free(&groups);
    free(rows);
}
