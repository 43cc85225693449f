/* One row a strategy. Columns are as wide as their widest cell; a header of two lines keeps a table
 * of several seeds within some 110 characters. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/groups.h"
#include "report/human.h"
#include "report/report.h"

enum { CELL_MAX = 168 };

struct table {
    const struct hr_groups *groups;
    double target; /* 0: no such column */
    bool skews;    /* workers were ever apart by clocks */
    bool drops;    /* somebody's gradients were dropped */
    bool loads;    /* somebody spent more than 1 % of the time on input */
};

typedef void (*cell_fn)(const struct hr_run_group *group, char *cell);

/* --- cells */

static void cell_label(const struct hr_run_group *group, char *cell)
{
    snprintf(cell, CELL_MAX, "%s%s", group->label, group->interrupted ? "*" : "");
}

static void cell_accuracy(const struct hr_run_group *group, char *cell)
{
    const struct hr_spread spread = hr_run_group_spread(group, hr_measure_accuracy);
    hr_human_spread(cell, &spread, 100, 2);
}

static void cell_test_loss(const struct hr_run_group *group, char *cell)
{
    const struct hr_spread spread = hr_run_group_spread(group, hr_measure_test_loss);
    hr_human_spread(cell, &spread, 1, spread.n > 1 ? 3 : 4);
}

/* The mean alone: its spread is seldom asked for, and the line is full. */
static void cell_train_loss(const struct hr_run_group *group, char *cell)
{
    struct hr_spread spread = hr_run_group_spread(group, hr_measure_train_loss);
    spread.n = 1;
    hr_human_spread(cell, &spread, 1, group->n > 1 ? 3 : 4);
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
        snprintf(cell, CELL_MAX, "%.0f", mean);
    else
        hr_human_short(cell, mean);
}

static void cell_lr(const struct hr_run_group *group, char *cell)
{
    if (isfinite(group->run[0]->lr))
        snprintf(cell, CELL_MAX, "%.4g", group->run[0]->lr);
    else
        snprintf(cell, CELL_MAX, "-"); /* a solver that needs none */
}

static void cell_staleness(const struct hr_run_group *group, char *cell)
{
    uint64_t most = 0;
    for (size_t i = 0; i < group->n; i++)
        most = group->run[i]->stale_max > most ? group->run[i]->stale_max : most;
    const double mean = hr_run_group_spread(group, hr_measure_stale_mean).mean;
    if (isfinite(mean))
        snprintf(cell, CELL_MAX, "%.2f/%llu", mean, (unsigned long long)most);
    else
        snprintf(cell, CELL_MAX, "-");
}

/* The largest of all seeds. */
static void cell_skew(const struct hr_run_group *group, char *cell)
{
    uint64_t most = 0;
    for (size_t i = 0; i < group->n; i++)
        most = group->run[i]->max_skew > most ? group->run[i]->max_skew : most;
    snprintf(cell, CELL_MAX, "%llu", (unsigned long long)most);
}

static uint64_t dropped(const struct hr_run_group *group)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < group->n; i++)
        sum += group->run[i]->dropped;
    return sum;
}

/* Of a run, on average. */
static void cell_dropped(const struct hr_run_group *group, char *cell)
{
    snprintf(cell, CELL_MAX, "%.4g", (double)dropped(group) / (double)group->n);
}

/* Percent of the workers' time that went into input; not a number when there is no time. */
static double load_percent(const struct hr_run_group *group)
{
    double load = 0, all = 0;
    for (size_t i = 0; i < group->n; i++) {
        const struct hr_run_result *run = group->run[i];
        load += run->load_s;
        all += run->load_s + run->compute_s + run->communicate_s + run->wait_s;
    }
    return 100 * load / all;
}

static void cell_load(const struct hr_run_group *group, char *cell)
{
    const double percent = load_percent(group);
    if (isfinite(percent))
        snprintf(cell, CELL_MAX, "%.1f", percent);
    else
        snprintf(cell, CELL_MAX, "-");
}

static void cell_time(const struct hr_run_group *group, char *cell)
{
    double compute = 0, communicate = 0, wait = 0;
    for (size_t i = 0; i < group->n; i++) {
        compute += group->run[i]->compute_s + group->run[i]->load_s;
        communicate += group->run[i]->communicate_s;
        wait += group->run[i]->wait_s;
    }
    const double percent = 100 / (compute + communicate + wait);
    if (isfinite(percent))
        snprintf(cell, CELL_MAX, "%.0f/%.0f/%.0f", compute * percent, communicate * percent,
                 wait * percent);
    else
        snprintf(cell, CELL_MAX, "-");
}

static void cell_target(const struct hr_run_group *group, char *cell)
{
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

/* --- columns */

struct column {
    const char *over, *head; /* the two lines of its header */
    cell_fn cell;
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

static bool has_loads(const struct table *table)
{
    return table->loads;
}

static const struct column columns[] = {
    {"", "strategy", cell_label, NULL},
    {"test", "accuracy %", cell_accuracy, NULL},
    {"test", "loss", cell_test_loss, NULL},
    {"train", "loss", cell_train_loss, NULL},
    {"", "seconds", cell_seconds, NULL},
    {"", "samples/s", cell_rate, NULL},
    {"", "updates", cell_updates, NULL},
    {"", "lr", cell_lr, NULL},
    {"staleness", "mean/max", cell_staleness, NULL},
    {"clock", "skew", cell_skew, has_skews},
    {"gradients", "dropped", cell_dropped, has_drops},
    {"time %", "c/c/w", cell_time, NULL},
    {"time %", "input", cell_load, has_loads},
    {"seconds", "to target", cell_target, has_target},
};

enum { NCOLUMNS = sizeof columns / sizeof *columns };

/* Characters on screen: bytes of UTF-8 that do not continue one. */
static size_t width_of(const char *text)
{
    size_t width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static bool is_shown(const struct table *table, size_t column)
{
    return !columns[column].shown || columns[column].shown(table);
}

static size_t column_width(const struct table *table, const struct column *column)
{
    char cell[CELL_MAX];
    size_t width = width_of(column->head);
    if (width_of(column->over) > width)
        width = width_of(column->over);
    for (size_t g = 0; g < table->groups->n; g++) {
        column->cell(&table->groups->group[g], cell);
        width = width_of(cell) > width ? width_of(cell) : width;
    }
    return width;
}

/* The first column stands left, numbers stand right. Nothing follows the last. */
static void print_cell(FILE *out, size_t number, const char *text, size_t width)
{
    const int pad = (int)(width - width_of(text));
    if (number == 0)
        fprintf(out, "%s%*s", text, pad, "");
    else
        fprintf(out, "  %*s%s", pad, "", text);
}

static void print_header(FILE *out, const struct table *table, const size_t *widths)
{
    for (size_t c = 0; c < NCOLUMNS; c++)
        if (is_shown(table, c))
            print_cell(out, c, columns[c].over, widths[c]);
    fputc('\n', out);
    for (size_t c = 0; c < NCOLUMNS; c++)
        if (is_shown(table, c))
            print_cell(out, c, columns[c].head, widths[c]);
    fputc('\n', out);
}

static void print_rows(FILE *out, const struct table *table, const size_t *widths)
{
    char cell[CELL_MAX];
    for (size_t g = 0; g < table->groups->n; g++) {
        for (size_t c = 0; c < NCOLUMNS; c++) {
            if (!is_shown(table, c))
                continue;
            columns[c].cell(&table->groups->group[g], cell);
            print_cell(out, c, cell, widths[c]);
        }
        fputc('\n', out);
    }
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

static void print_notes(FILE *out, const struct table *table)
{
    bool interrupted = false;
    for (size_t g = 0; g < table->groups->n; g++)
        interrupted |= table->groups->group[g].interrupted;
    fputs("c/c/w: compute / communicate / wait, of the workers' time", out);
    if (table->skews)
        fputs("; skew: most clocks between two workers", out);
    if (table->loads)
        fputs("; input: of it, loading batches", out);
    if (table->target > 0)
        fprintf(out, "; target: test accuracy %.4g %%", 100 * table->target);
    if (table->groups->most > 1)
        print_seeds(out, table->groups);
    fputs(interrupted ? "\n* interrupted before its end\n" : "\n", out);
}

void hr_table_print(FILE *out, const struct hr_run_result *runs, size_t n, double target)
{
    struct hr_groups groups;
    size_t widths[NCOLUMNS];
    if (n == 0)
        return;
    if (hr_groups_make(&groups, runs, n) != HR_OK) {
        fprintf(out, "(no table: %s)\n", hr_error_message());
        return;
    }
    struct table table = {.groups = &groups, .target = target};
    for (size_t i = 0; i < n; i++)
        table.skews |= runs[i].max_skew > 0;
    for (size_t g = 0; g < groups.n; g++) {
        table.drops |= dropped(&groups.group[g]) > 0;
        table.loads |= load_percent(&groups.group[g]) > 1;
    }
    for (size_t c = 0; c < NCOLUMNS; c++)
        widths[c] = column_width(&table, &columns[c]);
    print_header(out, &table, widths);
    print_rows(out, &table, widths);
    print_notes(out, &table);
    hr_groups_free(&groups);
}
