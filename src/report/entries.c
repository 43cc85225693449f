#include "report/entries.h"

#include <stdio.h>
#include <string.h>

/* The label tells apart what may differ between entries of one table. */
static void label_of(const struct hr_run_result *run, char label[48])
{
    const bool bounded = !strcmp(run->strategy, "ssp");
    int used = snprintf(label, 48, "%.24s", run->strategy);
    if (run->algorithm[0])
        used += snprintf(label + used, (size_t)(48 - used), " %.14s", run->algorithm);
    if (bounded)
        used += snprintf(label + used, (size_t)(48 - used), " s=%llu",
                         (unsigned long long)run->staleness_bound);
    if (run->servers > 1)
        snprintf(label + used, (size_t)(48 - used), " S=%zu", run->servers);
}

static bool belongs(const struct hr_entry *entry, const struct hr_run_result *run,
                    const char *label)
{
    const struct hr_run_result *first = entry->run[0];
    return !strcmp(entry->label, label) && first->workers == run->workers &&
           first->batch_size == run->batch_size && first->lr == run->lr;
}

size_t hr_entries_of(const struct hr_run_result *runs, size_t n, struct hr_entry *entries)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        char label[48];
        size_t e = 0;
        label_of(&runs[i], label);
        while (e < count && !belongs(&entries[e], &runs[i], label))
            e++;
        if (e == HR_MAX_ENTRIES)
            continue;
        if (e == count) {
            entries[count].n = 0;
            memcpy(entries[count++].label, label, sizeof label);
        }
        if (entries[e].n < HR_MAX_SEEDS)
            entries[e].run[entries[e].n++] = &runs[i];
    }
    return count;
}

struct hr_spread hr_entry_spread(const struct hr_entry *entry,
                                 double (*value)(const struct hr_run_result *))
{
    double values[HR_MAX_SEEDS];
    for (size_t i = 0; i < entry->n; i++)
        values[i] = value(entry->run[i]);
    return hr_spread_of(values, entry->n);
}

double hr_value_accuracy(const struct hr_run_result *run)
{
    return 100 * run->test_accuracy;
}

double hr_value_test_loss(const struct hr_run_result *run)
{
    return run->test_loss;
}

double hr_value_train_loss(const struct hr_run_result *run)
{
    return run->train_loss;
}

double hr_value_seconds(const struct hr_run_result *run)
{
    return run->seconds;
}

double hr_value_rate(const struct hr_run_result *run)
{
    return run->samples_per_s;
}

double hr_value_target(const struct hr_run_result *run)
{
    return run->target_seconds;
}
