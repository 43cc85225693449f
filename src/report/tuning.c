#include "report/tuning.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/human.h"

void hr_tuning_free(struct hr_tuning *tuning)
{
    for (size_t e = 0; e < tuning->nentries; e++) {
        free(tuning->entry[e].candidate);
        free(tuning->entry[e].trial);
    }
    free(tuning->entry);
    *tuning = (struct hr_tuning){0};
}

void hr_tuning_values(const struct hr_tuning *tuning, const struct hr_tuned_candidate *candidate,
                      const char *between, char *text, size_t size)
{
    text[0] = '\0';
    for (size_t a = 0; a < tuning->noptions; a++) {
        const size_t used = strlen(text);
        if (!isnan(candidate->value[a]))
            snprintf(text + used, size - used, "%s%s%s%.15g", used ? between : "",
                     tuning->option[a], between[0] == ':' ? "=" : " ", candidate->value[a]);
    }
}

static void print_head(FILE *out, const struct hr_tuning *tuning)
{
    char total[HR_HUMAN_MAX], longest[HR_HUMAN_MAX];
    fprintf(out, "tuning: %s %.*s for each strategy, in trials of up to %s\n",
            hr_human_short(total, tuning->total),
            (int)strlen(tuning->unit) - (tuning->total <= 1 && tuning->total >= 1), tuning->unit,
            hr_human_short(longest, tuning->longest));
    fprintf(out, "scored on %zu validation samples", tuning->validation_samples);
    if (tuning->fraction > 0)
        fprintf(out, ", %s%.3g %% of those to train on", tuning->by_default ? "by default " : "",
                100 * tuning->fraction);
    fprintf(out, "\nseeds %llu to %llu; the test set is not read\n\n",
            (unsigned long long)tuning->first_seed, (unsigned long long)tuning->last_seed);
}

static size_t longer(size_t a, size_t b)
{
    return a > b ? a : b;
}

static int longest_label(const struct hr_tuning *tuning)
{
    size_t longest = strlen("strategy");
    for (size_t e = 0; e < tuning->nentries; e++)
        longest = longer(longest, strlen(tuning->entry[e].label));
    return longest < 30 ? (int)longest : 30;
}

static int longest_values(const struct hr_tuning *tuning)
{
    size_t longest = strlen("candidate");
    char text[256];
    for (size_t e = 0; e < tuning->nentries; e++)
        for (size_t c = 0; c < tuning->entry[e].ncandidates; c++) {
            hr_tuning_values(tuning, &tuning->entry[e].candidate[c], ", ", text, sizeof text);
            longest = longer(longest, strlen(text));
        }
    return (int)longest;
}

static void print_candidate(FILE *out, const struct hr_tuning *tuning,
                            const struct hr_tuned_entry *entry, size_t c, int label, int values)
{
    char text[256], samples[HR_HUMAN_MAX];
    const struct hr_tuned_candidate *candidate = &entry->candidate[c];
    hr_tuning_values(tuning, candidate, ", ", text, sizeof text);
    fprintf(out, "%-*.*s  %-*s %7zu %9s  ", label, label, c ? "" : entry->label, values,
            text[0] ? text : "as it is", candidate->trials,
            hr_human_short(samples, (double)candidate->samples));
    if (!candidate->trials)
        fprintf(out, "%10s", "-");
    else if (isnan(candidate->score))
        fprintf(out, "%10s", "diverged");
    else
        fprintf(out, "%10s", hr_metric_text(tuning->metric, candidate->score).text);
    fputs(c == entry->chosen ? "  chosen\n" : "\n", out);
}

static void print_edges(FILE *out, const struct hr_tuning *tuning,
                        const struct hr_tuned_entry *entry)
{
    if (entry->diverged)
        fprintf(out, "! %s: every candidate diverged: try smaller values\n", entry->label);
    for (size_t a = 0; a < tuning->noptions; a++)
        if (entry->edge[a])
            fprintf(out, "! %s: %s %.15g is the %s tried: widen\n", entry->label, tuning->option[a],
                    entry->candidate[entry->chosen].value[a],
                    entry->edge[a] > 0 ? "largest" : "smallest");
}

void hr_tuning_print(FILE *out, const struct hr_tuning *tuning)
{
    const int label = longest_label(tuning), values = longest_values(tuning);
    print_head(out, tuning);
    fprintf(out, "%-*s  %-*s %7s %9s  %10s\n", label, "strategy", values, "candidate", "trials",
            "samples", hr_metric_kind(tuning->metric)->name);
    for (size_t e = 0; e < tuning->nentries; e++)
        for (size_t c = 0; c < tuning->entry[e].ncandidates; c++)
            print_candidate(out, tuning, &tuning->entry[e], c, label, values);
    for (size_t e = 0; e < tuning->nentries; e++)
        print_edges(out, tuning, &tuning->entry[e]);
    fputs("the same without tuning:\n  --strategies '", out);
    for (size_t e = 0; e < tuning->nentries; e++)
        fprintf(out, "%s%s", e ? "," : "", tuning->entry[e].setting);
    fputs("'\n\n", out);
}
