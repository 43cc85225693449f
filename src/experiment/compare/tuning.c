/* What --tune has tried, and what it chose: in sentences, as JSON. */
#include "compare/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/json.h"
#include "report/human.h"
#include "terminal/output.h"

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
    char total[HR_HUMAN_MAX], longest[HR_HUMAN_MAX], wider[HR_HUMAN_MAX];
    fprintf(out, "tuning: %s %.*s for each strategy, in trials of up to %s\n",
            hr_human_short(total, tuning->total),
            (int)strlen(tuning->unit) - (tuning->total <= 1 && tuning->total >= 1), tuning->unit,
            hr_human_short(longest, tuning->longest));
    if (tuning->wider > 0)
        fprintf(out, "and up to %s more where the best of them was at an edge\n",
                hr_human_short(wider, tuning->wider));
    fprintf(out, "scored on %zu validation samples", tuning->validation_samples);
    if (tuning->fraction > 0)
        fprintf(out, ", %s%.3g %% of those to train on", tuning->by_default ? "by default " : "",
                100 * tuning->fraction);
    fprintf(out, "\nseeds %llu to %llu; the test set is not read\n",
            (unsigned long long)tuning->first_seed, (unsigned long long)tuning->last_seed);
}

/* "! the best lr is the largest tried: ps-async 0.4, ssp 0.4; for larger ones: --tune
 * lr=A:B" */
static void print_edges(FILE *out, const struct hr_tuning *tuning)
{
    for (size_t a = 0; a < tuning->noptions; a++)
        for (int side = -1; side <= 1; side += 2) {
            const char *before = ": ";
            for (size_t e = 0; e < tuning->nentries; e++) {
                const struct hr_tuned_entry *entry = &tuning->entry[e];
                if (entry->edge[a] != side || entry->same_as)
                    continue;
                if (before[0] == ':')
                    fprintf(out, "%s! the best %s is the %s tried", hr_yields(out, HR_NOTICE),
                            tuning->option[a], side > 0 ? "largest" : "smallest");
                fprintf(out, "%s%s %.15g", before, entry->label,
                        entry->candidate[entry->chosen].value[a]);
                before = ", ";
            }
            if (before[0] == ',')
                fprintf(out, "; --tune %s=A:B tries more\n", tuning->option[a]);
        }
}

/* Of an entry's trials, those that did not diverge; UINT64_MAX: there is none. */
static uint64_t least_updates(const struct hr_tuned_entry *entry)
{
    uint64_t least = UINT64_MAX;
    for (size_t t = 0; t < entry->ntrials; t++)
        if (!isnan(entry->trial[t].score) && entry->trial[t].updates < least)
            least = entry->trial[t].updates;
    return least;
}

/* What one search found is said once. */
static void print_failures(FILE *out, const struct hr_tuning *tuning)
{
    const char *before = "! few updates in the shortest trials, so that choices are rough: ";
    bool some = false;
    for (size_t e = 0; e < tuning->nentries; e++)
        if (tuning->entry[e].diverged && !tuning->entry[e].same_as)
            fprintf(out, "%s! %s: every candidate diverged: try smaller values\n",
                    hr_yields(out, HR_NOTICE), tuning->entry[e].label);
    for (size_t e = 0; e < tuning->nentries; e++) {
        const uint64_t least = least_updates(&tuning->entry[e]);
        if (!tuning->usual || tuning->entry[e].same_as || least >= HR_TUNED_UPDATES)
            continue;
        fprintf(out, "%s%s%s %llu", some ? "" : hr_yields(out, HR_NOTICE), before,
                tuning->entry[e].label, (unsigned long long)least);
        before = ", ";
        some = true;
    }
    if (some)
        fputs("; more --epochs or a smaller --batch-size help\n", out);
}

static bool is_sure(const struct hr_tuned_entry *entry)
{
    return entry->rival == entry->chosen || entry->choice.p < 0.05;
}

/* "Accuracy: ps-async, ssp" of those that are sure, or not; 0: there are none. */
static size_t list_choices(const struct hr_tuning *tuning, bool sure, char *text, size_t size)
{
    size_t n = 0;
    text[0] = '\0';
    for (size_t e = 0; e < tuning->nentries; e++) {
        const struct hr_tuned_entry *entry = &tuning->entry[e];
        const size_t used = strlen(text);
        if (entry->same_as || entry->ncandidates < 2 || is_sure(entry) != sure)
            continue;
        snprintf(text + used, size - used, "%s%.40s", n++ ? ", " : "", entry->label);
    }
    return n;
}

const char *hr_tuning_sure(const struct hr_tuning *tuning, char text[HR_TUNING_SURE_MAX])
{
    char sure[HR_TUNING_SURE_MAX / 3], close[HR_TUNING_SURE_MAX / 3];
    const size_t nsure = list_choices(tuning, true, sure, sizeof sure);
    const size_t nclose = list_choices(tuning, false, close, sizeof close);
    snprintf(text, HR_TUNING_SURE_MAX, "%s%s%s%s%s%s", nsure ? "The choice was clear for " : "",
             sure,
             nsure && nclose ? ". "
             : nsure         ? "."
                             : "",
             nclose ? "A close choice, which other seeds might make otherwise: " : "", close,
             nclose ? "." : "");
    return text;
}

bool hr_tuning_chose_rates(const struct hr_tuning *tuning)
{
    size_t lr = 0;
    while (lr < tuning->noptions && strcmp(tuning->option[lr], "lr") != 0)
        lr++;
    for (size_t e = 0; lr < tuning->noptions && e < tuning->nentries; e++) {
        const struct hr_tuned_entry *entry = &tuning->entry[e];
        if (isnan(entry->candidate[entry->chosen].value[lr]))
            return false;
    }
    return lr < tuning->noptions && tuning->nentries > 0;
}

/* The choice against the second best, where both were trained at full length. */
static void print_choice(FILE *out, const struct hr_tuning *tuning,
                         const struct hr_tuned_entry *entry)
{
    char chosen[256], rival[256];
    const struct hr_metric_kind *kind = hr_metric_kind(tuning->metric);
    if (entry->same_as || entry->rival == entry->chosen || entry->choice.n < 2)
        return;
    hr_tuning_values(tuning, &entry->candidate[entry->chosen], ", ", chosen, sizeof chosen);
    hr_tuning_values(tuning, &entry->candidate[entry->rival], ", ", rival, sizeof rival);
    fprintf(out, "%s: %s against %s: %+.2g%s over %zu seeds, p %.2g%s\n", entry->label, chosen,
            rival, kind->scale * entry->choice.difference, kind->scale > 1 ? " points" : "",
            entry->choice.n, entry->choice.p, is_sure(entry) ? "" : ": close");
}

/* "chosen by --tune: allreduce lr 0.2, momentum 0.9; ps-async lr 0.4, momentum 0" */
static void print_chosen(FILE *out, const struct hr_tuning *tuning)
{
    char text[256];
    for (size_t e = 0; e < tuning->nentries; e++) {
        const struct hr_tuned_entry *entry = &tuning->entry[e];
        hr_tuning_values(tuning, &entry->candidate[entry->chosen], ", ", text, sizeof text);
        fprintf(out, "%s%s %s", e ? "; " : "chosen by --tune: ", entry->label,
                entry->same_as ? "the same as "
                : text[0]      ? text
                               : "as it is");
        if (entry->same_as)
            fputs(entry->same_as, out);
    }
    fputc('\n', out);
}

/* What the table does not show: its rows have rates, and what else tells them apart. */
static void print_shared(FILE *out, const struct hr_tuning *tuning)
{
    const char *before = "chosen by --tune for all rows: ";
    for (size_t a = 0; a < tuning->noptions; a++) {
        const double first = tuning->entry[0].candidate[tuning->entry[0].chosen].value[a];
        bool shared = isfinite(first) && strcmp(tuning->option[a], "lr") != 0;
        for (size_t e = 1; shared && e < tuning->nentries; e++) {
            const struct hr_tuned_entry *entry = &tuning->entry[e];
            shared = !(fabs(entry->candidate[entry->chosen].value[a] - first) > 0);
        }
        if (!shared)
            continue;
        fprintf(out, "%s%s%s %.15g", before[0] == 'c' ? hr_yields(out, HR_NOTICE) : "", before,
                tuning->option[a], first);
        before = ", ";
    }
    fputs(before[0] == ',' ? "\n" : "", out);
}

/* What each candidate came to is in JSON, and on the page. */
void hr_tuning_print(FILE *out, const struct hr_tuning *tuning, bool details)
{
    if (details) {
        print_head(out, tuning);
        print_chosen(out, tuning);
        for (size_t e = 0; e < tuning->nentries; e++)
            print_choice(out, tuning, &tuning->entry[e]);
        for (size_t e = 0; e < tuning->nentries; e++)
            fprintf(out, "%s%s%s", e ? "," : "the same without tuning:\n  --strategies '",
                    tuning->entry[e].setting, e + 1 == tuning->nentries ? "'\n" : "");
    } else {
        print_shared(out, tuning);
    }
    print_failures(out, tuning);
    print_edges(out, tuning);
    if (details)
        fputc('\n', out);
}

/* --- as JSON --- */

static json_t *values_of(const struct hr_tuning *tuning, const struct hr_tuned_candidate *candidate)
{
    json_t *object = json_object();
    for (size_t a = 0; a < tuning->noptions; a++)
        if (!isnan(candidate->value[a]))
            json_object_set_new(object, tuning->option[a], hr_json_number(candidate->value[a]));
    return object;
}

static json_t *candidates_of(const struct hr_tuning *tuning, const struct hr_tuned_entry *entry)
{
    json_t *array = json_array();
    for (size_t c = 0; c < entry->ncandidates; c++) {
        const struct hr_tuned_candidate *candidate = &entry->candidate[c];
        json_array_append_new(
            array, hr_json_object("values", values_of(tuning, candidate), HR_OF(candidate, trials),
                                  HR_OF(candidate, samples), HR_OF(candidate, score), "chosen",
                                  json_boolean(c == entry->chosen), NULL));
    }
    return array;
}

static json_t *trials_of(const struct hr_tuning *tuning, const struct hr_tuned_entry *entry)
{
    json_t *array = json_array();
    for (size_t t = 0; t < entry->ntrials; t++) {
        const struct hr_tuned_trial *trial = &entry->trial[t];
        json_array_append_new(
            array, hr_json_object("values", values_of(tuning, &entry->candidate[trial->candidate]),
                                  HR_OF(trial, rung), HR_OF(trial, seed), HR_OF(trial, budget),
                                  HR_OF(trial, samples), HR_OF(trial, updates),
                                  HR_OF(trial, seconds), HR_OF(trial, score), HR_OF(trial, loss),
                                  "diverged", json_boolean(isnan(trial->score)), NULL));
    }
    return array;
}

static json_t *edges_of(const struct hr_tuning *tuning, const struct hr_tuned_entry *entry)
{
    json_t *object = json_object();
    for (size_t a = 0; a < tuning->noptions; a++)
        if (entry->edge[a])
            json_object_set_new(object, tuning->option[a],
                                json_string(entry->edge[a] > 0 ? "largest" : "smallest"));
    return object;
}

static json_t *entry_of(const void *of, size_t i)
{
    const struct hr_tuning *tuning = of;
    const struct hr_tuned_entry *entry = &tuning->entry[i];
    const bool weighed = entry->choice.n > 0;
    json_t *rival = weighed ? values_of(tuning, &entry->candidate[entry->rival]) : json_null();
    json_t *choice = hr_json_object("rival", rival, "difference",
                                    HR_JSON(weighed ? entry->choice.difference : (double)NAN),
                                    "seeds", HR_JSON(entry->choice.n), "p",
                                    HR_JSON(weighed ? entry->choice.p : (double)NAN), NULL);
    return hr_json_object(HR_OF(entry, label), HR_OF(entry, strategy), "chosen",
                          values_of(tuning, &entry->candidate[entry->chosen]), "at_edge",
                          edges_of(tuning, entry), "all_diverged", HR_JSON(entry->diverged),
                          HR_OF(entry, setting), HR_OF(entry, samples), "candidates",
                          candidates_of(tuning, entry), "trials", trials_of(tuning, entry),
                          "same_as", entry->same_as ? hr_json_text(entry->same_as) : json_null(),
                          HR_OF(entry, widened), "choice", choice, NULL);
}

json_t *hr_json_tuning(const struct hr_tuning *tuning)
{
    return hr_json_object("metric", HR_JSON(hr_metric_kind(tuning->metric)->name),
                          HR_OF(tuning, validation_samples), HR_OF(tuning, unit),
                          HR_OF(tuning, longest), HR_OF(tuning, total), HR_OF(tuning, wider),
                          "validation_fraction", HR_JSON(tuning->fraction), "fraction_by_default",
                          HR_JSON(tuning->by_default), HR_OF(tuning, usual),
                          HR_OF(tuning, first_seed), HR_OF(tuning, last_seed), "entries",
                          hr_json_list(tuning->nentries, entry_of, tuning), NULL);
}
