/* What compare --tune has tried, and what it chose. */
#include <math.h>
#include <string.h>

#include "json/documents.h"
#include "json/value.h"
#include "report/tuning.h"

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
            array, json_pack("{so so so so sb}", "values", values_of(tuning, candidate), "trials",
                             hr_json_count(candidate->trials), "samples",
                             hr_json_count(candidate->samples), "score",
                             hr_json_number(candidate->score), "chosen", c == entry->chosen));
    }
    return array;
}

static json_t *trials_of(const struct hr_tuning *tuning, const struct hr_tuned_entry *entry)
{
    json_t *array = json_array();
    for (size_t t = 0; t < entry->ntrials; t++) {
        const struct hr_tuned_trial *trial = &entry->trial[t];
        json_array_append_new(
            array,
            json_pack("{so so so so so so so so so sb}", "values",
                      values_of(tuning, &entry->candidate[trial->candidate]), "rung",
                      hr_json_count(trial->rung), "seed", hr_json_count(trial->seed), "budget",
                      hr_json_number(trial->budget), "samples", hr_json_count(trial->samples),
                      "updates", hr_json_count(trial->updates), "seconds",
                      hr_json_number(trial->seconds), "score", hr_json_number(trial->score), "loss",
                      hr_json_number(trial->loss), "diverged", isnan(trial->score)));
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

static json_t *entry_of(const struct hr_tuning *tuning, const struct hr_tuned_entry *entry)
{
    const bool weighed = entry->choice.n > 0;
    json_t *rival = weighed ? values_of(tuning, &entry->candidate[entry->rival]) : json_null();
    json_t *choice = json_pack("{so so so so}", "rival", rival, "difference",
                               hr_json_number(weighed ? entry->choice.difference : (double)NAN),
                               "seeds", hr_json_count(entry->choice.n), "p",
                               hr_json_number(weighed ? entry->choice.p : (double)NAN));
    return json_pack("{so so so so sb so so so so so sb so}", "label", hr_json_text(entry->label),
                     "strategy", hr_json_text(entry->strategy), "chosen",
                     values_of(tuning, &entry->candidate[entry->chosen]), "at_edge",
                     edges_of(tuning, entry), "all_diverged", entry->diverged, "setting",
                     hr_json_text(entry->setting), "samples", hr_json_count(entry->samples),
                     "candidates", candidates_of(tuning, entry), "trials", trials_of(tuning, entry),
                     "same_as", entry->same_as ? hr_json_text(entry->same_as) : json_null(),
                     "widened", entry->widened, "choice", choice);
}

json_t *hr_json_tuning(const struct hr_tuning *tuning)
{
    json_t *entries = json_array();
    for (size_t e = 0; e < tuning->nentries; e++)
        hr_json_append(&entries, entry_of(tuning, &tuning->entry[e]));
    return json_pack("{ss so ss so so so so sb sb so so so}", "metric",
                     hr_metric_kind(tuning->metric)->name, "validation_samples",
                     hr_json_count(tuning->validation_samples), "unit", tuning->unit, "longest",
                     hr_json_number(tuning->longest), "total", hr_json_number(tuning->total),
                     "wider", hr_json_number(tuning->wider), "validation_fraction",
                     hr_json_number(tuning->fraction), "fraction_by_default", tuning->by_default,
                     "usual", tuning->usual, "first_seed", hr_json_count(tuning->first_seed),
                     "last_seed", hr_json_count(tuning->last_seed), "entries", entries);
}
