/* The comparison in a few sentences, saying no more than the seeds can bear. */
#include <stdlib.h>

#include "report/entries.h"
#include "report/human.h"
#include "report/report.h"

static const double LEVEL = 0.05; /* of the family of tests */

static size_t best_by(const struct hr_entry *entries, size_t n,
                      double (*value)(const struct hr_run_result *))
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (hr_entry_spread(&entries[i], value).mean > hr_entry_spread(&entries[best], value).mean)
            best = i;
    return best;
}

static void print_accuracy(FILE *out, const struct hr_entry *entries, size_t n)
{
    const size_t best = best_by(entries, n, hr_value_accuracy);
    const struct hr_spread top = hr_entry_spread(&entries[best], hr_value_accuracy);
    double p[HR_MAX_ENTRIES];
    size_t others[HR_MAX_ENTRIES], count = 0, worse = 0;
    for (size_t i = 0; i < n; i++) {
        const struct hr_spread spread = hr_entry_spread(&entries[i], hr_value_accuracy);
        if (i == best)
            continue;
        others[count] = i;
        p[count++] = hr_welch_p(&top, &spread);
    }
    hr_holm_adjust(p, count);
    for (size_t k = 0; k < count; k++) {
        const struct hr_entry *other = &entries[others[k]];
        if (p[k] >= LEVEL)
            continue;
        fprintf(out, "Accuracy: %s is %.2f points below %s (p = %.2g).\n", other->label,
                top.mean - hr_entry_spread(other, hr_value_accuracy).mean, entries[best].label,
                p[k]);
        worse++;
    }
    if (worse == count)
        return;
    if (worse)
        fprintf(out, "Accuracy: of the other strategies no difference to %s can be told.\n",
                entries[best].label);
    else
        fprintf(out,
                "Accuracy: no difference can be told from %zu seeds (Welch's t test against %s, 5 "
                "%%, Holm).\n",
                entries[best].n, entries[best].label);
}

static void print_speed(FILE *out, const struct hr_entry *entries, size_t n)
{
    const size_t best = best_by(entries, n, hr_value_rate);
    size_t worst = 0;
    for (size_t i = 1; i < n; i++)
        if (hr_entry_spread(&entries[i], hr_value_rate).mean <
            hr_entry_spread(&entries[worst], hr_value_rate).mean)
            worst = i;
    const double high = hr_entry_spread(&entries[best], hr_value_rate).mean;
    const double low = hr_entry_spread(&entries[worst], hr_value_rate).mean;
    char rate[32];
    hr_human_count(rate, sizeof rate, high);
    fprintf(out, "Speed: %s is fastest with %s samples/s, %.2f times %s.\n", entries[best].label,
            rate, low > 0 ? high / low : 0, entries[worst].label);
}

/* Strategies all of whose runs reached the target, by mean seconds. */
static void print_target(FILE *out, const struct hr_entry *entries, size_t n, double target)
{
    size_t best = n;
    double least = 0;
    for (size_t i = 0; i < n; i++) {
        const struct hr_spread spread = hr_entry_spread(&entries[i], hr_value_target);
        if (spread.least < 0 || (best < n && spread.mean >= least))
            continue;
        best = i;
        least = spread.mean;
    }
    if (best < n)
        fprintf(out, "Time: %s reaches %g %% first, in %.2f s of training.\n", entries[best].label,
                100 * target, least);
    else
        fprintf(out, "Time: no strategy reaches %g %% with every seed.\n", 100 * target);
}

void hr_verdict_print(FILE *out, const struct hr_run_result *runs, size_t n, double target)
{
    struct hr_entry *entries = calloc(HR_MAX_ENTRIES, sizeof *entries);
    if (!entries)
        return;
    const size_t count = hr_entries_of(runs, n, entries);
    size_t fewest = count ? entries[0].n : 0;
    for (size_t i = 0; i < count; i++)
        fewest = entries[i].n < fewest ? entries[i].n : fewest;
    if (count > 1 && fewest > 1) {
        fputc('\n', out);
        print_accuracy(out, entries, count);
        print_speed(out, entries, count);
        if (target > 0)
            print_target(out, entries, count, target);
    }
    free(entries);
}
