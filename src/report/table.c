/* One row a strategy: what it reached, how fast, with how stale updates, and where the
 * time went. */
#include <stdlib.h>
#include <string.h>

#include "report/entries.h"
#include "report/human.h"
#include "report/report.h"

/* "±" where the terminal can show it. */
static const char *plus_minus(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && value[0])
            return strstr(value, "UTF-8") || strstr(value, "utf8") ? "±" : "+-";
    }
    return "+-";
}

/* Right-aligned in `width` columns, where a "±" takes one column and two bytes. */
static void print_cell(FILE *out, const char *text, int width)
{
    fprintf(out, "  %*s", width + (strstr(text, "±") ? 1 : 0), text);
}

static void print_spread(FILE *out, const struct hr_spread *spread, int decimals, int width)
{
    char text[64];
    if (spread->n > 1)
        snprintf(text, sizeof text, "%.*f %s %.*f", decimals, spread->mean, plus_minus(), decimals,
                 spread->sd);
    else
        snprintf(text, sizeof text, "%.*f", decimals, spread->mean);
    print_cell(out, text, width);
}

/* Sums over an entry's runs of what does not vary in meaning. */
struct totals {
    double updates, stale_sum, stale_updates, compute, communicate, wait;
    uint64_t stale_max;
};

static struct totals totals_of(const struct hr_entry *entry)
{
    struct totals t = {0};
    for (size_t i = 0; i < entry->n; i++) {
        const struct hr_run_result *run = entry->run[i];
        t.updates += (double)run->updates / (double)entry->n;
        t.stale_sum += (double)run->stale_sum;
        t.stale_updates += (double)run->stale_updates;
        t.stale_max = run->stale_max > t.stale_max ? run->stale_max : t.stale_max;
        t.compute += run->compute_s;
        t.communicate += run->communicate_s;
        t.wait += run->wait_s;
    }
    return t;
}

/* The target column: seconds, or how many runs never came there. */
static void print_target(FILE *out, const struct hr_entry *entry)
{
    size_t missed = 0;
    char text[32];
    for (size_t i = 0; i < entry->n; i++)
        missed += entry->run[i]->target_seconds < 0;
    const struct hr_spread spread = hr_entry_spread(entry, hr_value_target);
    if (missed == 0)
        snprintf(text, sizeof text, "%.2f", spread.mean);
    else if (entry->n == 1)
        snprintf(text, sizeof text, "never");
    else
        snprintf(text, sizeof text, "missed %zu/%zu", missed, entry->n);
    print_cell(out, text, 10);
}

static void print_time_split(FILE *out, const struct totals *t)
{
    const double whole = t->compute + t->communicate + t->wait;
    char text[32] = "-";
    if (whole > 0)
        snprintf(text, sizeof text, "%.0f/%.0f/%.0f", 100 * t->compute / whole,
                 100 * t->communicate / whole, 100 * t->wait / whole);
    print_cell(out, text, 10);
}

static void print_row(FILE *out, const struct hr_entry *entry, bool several, int label_width,
                      double target)
{
    const struct totals t = totals_of(entry);
    const struct hr_spread accuracy = hr_entry_spread(entry, hr_value_accuracy);
    const struct hr_spread loss = hr_entry_spread(entry, hr_value_test_loss);
    const struct hr_spread seconds = hr_entry_spread(entry, hr_value_seconds);
    const struct hr_spread rate = hr_entry_spread(entry, hr_value_rate);
    char text[64];
    fprintf(out, "%-*s", label_width, entry->label);
    print_spread(out, &accuracy, 2, several ? 12 : 8);
    print_spread(out, &loss, 4, several ? 16 : 9);
    print_spread(out, &seconds, 2, several ? 13 : 7);
    hr_human_count(text, sizeof text, rate.mean);
    print_cell(out, text, 9);
    snprintf(text, sizeof text, "%.0f", t.updates);
    print_cell(out, text, 8);
    snprintf(text, sizeof text, "%g", entry->run[0]->lr);
    print_cell(out, text, 6);
    snprintf(text, sizeof text, "%.2f", t.stale_updates > 0 ? t.stale_sum / t.stale_updates : 0);
    print_cell(out, text, 6);
    snprintf(text, sizeof text, "%llu", (unsigned long long)t.stale_max);
    print_cell(out, text, 4);
    print_time_split(out, &t);
    if (target > 0)
        print_target(out, entry);
    fputc('\n', out);
}

static void print_head(FILE *out, bool several, int label_width, double target)
{
    char title[32];
    fprintf(out, "%-*s  %*s  %*s  %*s  %9s  %8s  %6s  %12s  %10s", label_width, "",
            several ? 12 : 8, "accuracy", several ? 16 : 9, "test loss", several ? 13 : 7,
            "seconds", "samples/s", "updates", "lr", "staleness", "comp/comm/");
    if (target > 0) {
        snprintf(title, sizeof title, "s to %g %%", 100 * target);
        fprintf(out, "  %10s", title);
    }
    fprintf(out, "\n%-*s  %*s  %*s  %*s  %9s  %8s  %6s  %6s  %4s  %10s\n", label_width, "strategy",
            several ? 12 : 8, "%", several ? 16 : 9, "", several ? 13 : 7, "", "", "", "", "mean",
            "max", "wait %");
}

void hr_table_print(FILE *out, const struct hr_run_result *runs, size_t n, double target)
{
    struct hr_entry *entries = calloc(HR_MAX_ENTRIES, sizeof *entries);
    if (!entries)
        return;
    const size_t count = hr_entries_of(runs, n, entries);
    int label_width = 10;
    bool several = false;
    for (size_t i = 0; i < count; i++) {
        const int width = (int)strlen(entries[i].label);
        label_width = width > label_width ? width : label_width;
        several |= entries[i].n > 1;
    }
    print_head(out, several, label_width, target);
    for (size_t i = 0; i < count; i++)
        print_row(out, &entries[i], several, label_width, target);
    free(entries);
}
